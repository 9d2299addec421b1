import { Migration } from '@mikro-orm/migrations';

export class Migration20261123023253 extends Migration {

  override name = 'Migration20261123023253';

  override up(): void | Promise<void> {
    this.addSql(`create table "provider_servers" ("id" serial primary key, "created_at" timestamptz(3) not null default now(), "updated_at" timestamptz(3) not null default now(), "provider_id" int not null, "api_url" varchar(2048) not null, "api_key" text null, "from_file" boolean not null default false);`);
    this.addSql(`create index "provider_servers_provider_id_index" on "provider_servers" ("provider_id");`);

    this.addSql(`alter table "ai_providers" drop column "servers";`);

    this.addSql(`alter table "provider_servers" add constraint "provider_servers_provider_id_foreign" foreign key ("provider_id") references "ai_providers" ("id") on delete cascade;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "provider_servers" cascade;`);

    this.addSql(`alter table "ai_providers" add "servers" jsonb not null default '[]';`);
  }

}
