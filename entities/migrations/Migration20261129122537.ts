import { Migration } from '@mikro-orm/migrations';

export class Migration20261129122537 extends Migration {

  override name = 'Migration20261129122537';

  override up(): void | Promise<void> {
    this.addSql(`create table "room_reactions" ("id" serial primary key, "created_at" timestamptz(3) not null default now(), "message_id" int not null, "member_id" int not null, "content" varchar(200) not null, "key_epoch" int not null);`);
    this.addSql(`create index "room_reactions_member_id_index" on "room_reactions" ("member_id");`);
    this.addSql(`create index "room_reactions_message_id_id_index" on "room_reactions" ("message_id", "id");`);

    this.addSql(`alter table "room_reactions" add constraint "room_reactions_message_id_foreign" foreign key ("message_id") references "room_messages" ("id") on delete cascade;`);
    this.addSql(`alter table "room_reactions" add constraint "room_reactions_member_id_foreign" foreign key ("member_id") references "room_members" ("id") on delete cascade;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "room_reactions" cascade;`);
  }

}
