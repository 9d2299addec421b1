import { Migration } from '@mikro-orm/migrations';

export class Migration20261129224049 extends Migration {

  override name = 'Migration20261129224049';

  override up(): void | Promise<void> {
    this.addSql(`create table "shared_links" ("id" serial primary key, "created_at" timestamptz(3) not null default now(), "owner_id" int not null, "conversation_id" int not null, "address" varchar(22) not null, "sealed_key" text not null, "audience" text not null, "groups" text[] not null default '{}', "ends_at" timestamptz(3) not null, "shared_at" timestamptz(3) null, "uuid" uuid null, "bytes" int null, "file_key" varchar(255) null);`);
    this.addSql(`create index "shared_links_owner_id_index" on "shared_links" ("owner_id");`);
    this.addSql(`create index "shared_links_conversation_id_index" on "shared_links" ("conversation_id");`);
    this.addSql(`alter table "shared_links" add constraint "shared_links_address_unique" unique ("address");`);
    this.addSql(`create index "shared_links_ends_at_index" on "shared_links" ("ends_at");`);
    this.addSql(`alter table "shared_links" add constraint "shared_links_uuid_unique" unique ("uuid");`);

    this.addSql(`alter table "shared_links" add constraint "shared_links_owner_id_foreign" foreign key ("owner_id") references "users" ("id") on delete cascade;`);
    this.addSql(`alter table "shared_links" add constraint "shared_links_conversation_id_foreign" foreign key ("conversation_id") references "conversations" ("id") on delete cascade;`);
    this.addSql(`alter table "shared_links" add constraint "shared_links_copy_check" check (num_nulls(shared_at, uuid, bytes, file_key) in (0, 4));`);
    this.addSql(`alter table "shared_links" add constraint "shared_links_audience_check" check ("audience" in ('people', 'groups', 'everybody'));`);
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "shared_links" cascade;`);
  }

}
