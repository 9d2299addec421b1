import { Migration } from '@mikro-orm/migrations';

export class Migration20261122132456 extends Migration {

  override name = 'Migration20261122132456';

  override up(): void | Promise<void> {
    this.addSql(`create table "announcements" ("id" serial primary key, "created_at" timestamptz(3) not null default now(), "updated_at" timestamptz(3) not null default now(), "title" varchar(200) not null, "view" varchar(120) not null, "type" text not null, "is_forced" boolean not null, "is_global" boolean not null, "anchor" varchar(60) null, "starts_at" timestamptz(3) not null default now(), "expires_at" timestamptz(3) null);`);

    this.addSql(`create table "announcement_targets" ("announcement_id" int not null, "user_id" int not null, primary key ("announcement_id", "user_id"));`);

    this.addSql(`create table "announcement_receipts" ("user_id" int not null, "announcement_id" int not null, "seen_at" timestamptz(3) not null default now(), "accepted_at" timestamptz(3) null, "version" varchar(64) null, primary key ("user_id", "announcement_id"));`);

    this.addSql(`alter table "announcements" add constraint "announcements_type_check" check ("type" in ('policy', 'news', 'system', 'event', 'info'));`);

    this.addSql(`alter table "announcement_targets" add constraint "announcement_targets_announcement_id_foreign" foreign key ("announcement_id") references "announcements" ("id") on update cascade on delete cascade;`);
    this.addSql(`alter table "announcement_targets" add constraint "announcement_targets_user_id_foreign" foreign key ("user_id") references "users" ("id") on update cascade on delete cascade;`);

    this.addSql(`alter table "announcement_receipts" add constraint "announcement_receipts_user_id_foreign" foreign key ("user_id") references "users" ("id") on update cascade on delete cascade;`);
    this.addSql(`alter table "announcement_receipts" add constraint "announcement_receipts_announcement_id_foreign" foreign key ("announcement_id") references "announcements" ("id") on update cascade on delete cascade;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "announcement_targets" drop constraint "announcement_targets_announcement_id_foreign";`);
    this.addSql(`alter table "announcement_receipts" drop constraint "announcement_receipts_announcement_id_foreign";`);

    this.addSql(`drop table if exists "announcements" cascade;`);
    this.addSql(`drop table if exists "announcement_targets" cascade;`);
    this.addSql(`drop table if exists "announcement_receipts" cascade;`);
  }

}
