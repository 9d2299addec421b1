import { Migration } from '@mikro-orm/migrations';

export class Migration20261129230141 extends Migration {

  override name = 'Migration20261129230141';

  override up(): void | Promise<void> {
    this.addSql(`create table "shared_prompts" ("id" serial primary key, "created_at" timestamptz(3) not null default now(), "updated_at" timestamptz(3) not null default now(), "name" varchar(120) not null, "text" text not null, "groups" text[] not null default '{}', "locale" varchar(10) null);`);

    this.addSql(`create table "own_prompts" ("id" serial primary key, "created_at" timestamptz(3) not null default now(), "updated_at" timestamptz(3) not null default now(), "user_id" int not null, "sealed" text not null);`);
    this.addSql(`create index "own_prompts_user_id_index" on "own_prompts" ("user_id");`);

    this.addSql(`alter table "own_prompts" add constraint "own_prompts_user_id_foreign" foreign key ("user_id") references "users" ("id") on delete cascade;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "shared_prompts" cascade;`);
    this.addSql(`drop table if exists "own_prompts" cascade;`);
  }

}
