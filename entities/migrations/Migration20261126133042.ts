import { Migration } from '@mikro-orm/migrations';

export class Migration20261126133042 extends Migration {

  override name = 'Migration20261126133042';

  override up(): void | Promise<void> {
    this.addSql(`create table "person_exports" ("id" serial primary key, "user_id" int not null, "state" text not null default 'waiting', "requested_at" timestamptz(3) not null default now(), "ended_at" timestamptz(3) null, "expires_at" timestamptz(3) not null, "file" uuid null, "bytes" bigint null, "sealed_key" varchar(255) null);`);
    this.addSql(`create index "person_exports_user_id_index" on "person_exports" ("user_id");`);
    this.addSql(`create index "person_exports_expires_at_index" on "person_exports" ("expires_at");`);

    this.addSql(`alter table "usage_rollups" add "billed" date null;`);
    this.addSql(`create index "usage_rollups_billed_index" on "usage_rollups" ("billed");`);

    this.addSql(`alter table "person_exports" add constraint "person_exports_user_id_foreign" foreign key ("user_id") references "users" ("id") on delete cascade;`);
    this.addSql(`alter table "person_exports" add constraint "person_exports_file_check" check ((state = 'ready') = (num_nonnulls(file, bytes, sealed_key) = 3));`);
    this.addSql(`alter table "person_exports" add constraint "person_exports_state_check" check ("state" in ('waiting', 'ready', 'failed'));`);
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "person_exports" cascade;`);

    this.addSql(`drop index "usage_rollups_billed_index";`);
    this.addSql(`alter table "usage_rollups" drop column "billed";`);
  }

}
