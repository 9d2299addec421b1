import { Migration } from '@mikro-orm/migrations';

export class Migration20261129120203 extends Migration {

  override name = 'Migration20261129120203';

  override up(): void | Promise<void> {
    this.addSql(`create table "room_member_events" ("id" serial primary key, "created_at" timestamptz(3) not null default now(), "room_id" int not null, "member_id" int not null, "kind" text not null);`);
    this.addSql(`create index "room_member_events_member_id_index" on "room_member_events" ("member_id");`);
    this.addSql(`create index "room_member_events_room_id_id_index" on "room_member_events" ("room_id", "id");`);

    this.addSql(`alter table "room_member_events" add constraint "room_member_events_room_id_foreign" foreign key ("room_id") references "rooms" ("id") on delete cascade;`);
    this.addSql(`alter table "room_member_events" add constraint "room_member_events_member_id_foreign" foreign key ("member_id") references "room_members" ("id") on delete cascade;`);
    this.addSql(`alter table "room_member_events" add constraint "room_member_events_kind_check" check ("kind" in ('joined', 'left', 'removed'));`);
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "room_member_events" cascade;`);
  }

}
