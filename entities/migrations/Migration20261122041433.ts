import { Migration } from '@mikro-orm/migrations';

export class Migration20261122041433 extends Migration {

  override name = 'Migration20261122041433';

  override up(): void | Promise<void> {
    this.addSql(`create table "glossary_terms" ("id" serial primary key, "created_at" timestamptz(3) not null default now(), "updated_at" timestamptz(3) not null default now(), "term" varchar(80) not null, "meaning" text not null, "active" boolean not null default true);`);
    this.addSql(`alter table "glossary_terms" add constraint "glossary_terms_term_unique" unique ("term");`);
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "glossary_terms" cascade;`);
  }

}
