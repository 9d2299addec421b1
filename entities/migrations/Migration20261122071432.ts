import { Migration } from '@mikro-orm/migrations';

export class Migration20261122071432 extends Migration {

  override name = 'Migration20261122071432';

  override up(): void | Promise<void> {
    this.addSql(`create table "room_key_epochs" ("room_id" int not null, "epoch" int not null, "previous_key" text null, "started_at" timestamptz(3) not null default now(), primary key ("room_id", "epoch"));`);

    this.addSql(`create table "room_keys" ("room_id" int not null, "user_id" int not null, "epoch" int not null, "wrapped_key" text not null, primary key ("room_id", "user_id", "epoch"));`);
    this.addSql(`create index "room_keys_user_id_index" on "room_keys" ("user_id");`);

    this.addSql(`alter table "rooms" add "key_epoch_since" timestamptz(3) not null default now(), add "rekey_required_since" timestamptz(3) null, add "shares_earlier_keys" boolean not null default true;`);

    this.addSql(`alter table "room_members" add "first_key_epoch" int not null default 0;`);

    this.addSql(`alter table "room_key_epochs" add constraint "room_key_epochs_room_id_foreign" foreign key ("room_id") references "rooms" ("id") on delete cascade;`);

    this.addSql(`alter table "room_keys" add constraint "room_keys_room_id_foreign" foreign key ("room_id") references "rooms" ("id") on delete cascade;`);
    this.addSql(`alter table "room_keys" add constraint "room_keys_user_id_foreign" foreign key ("user_id") references "users" ("id") on delete cascade;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "room_key_epochs" cascade;`);
    this.addSql(`drop table if exists "room_keys" cascade;`);

    this.addSql(`alter table "room_members" drop column "first_key_epoch";`);

    this.addSql(`alter table "rooms" drop column "key_epoch_since", drop column "rekey_required_since", drop column "shares_earlier_keys";`);
  }

}
