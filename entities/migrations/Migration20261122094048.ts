import { Migration } from '@mikro-orm/migrations';

export class Migration20261122094048 extends Migration {

  override name = 'Migration20261122094048';

  override up(): void | Promise<void> {
    this.addSql(`create table "attachments" ("id" serial primary key, "created_at" timestamptz(3) not null default now(), "updated_at" timestamptz(3) not null default now(), "uuid" uuid not null, "uploader_id" int not null, "message_id" int null, "room_id" int null, "name" varchar(255) not null, "mime" varchar(127) not null, "file_type" text not null, "bytes" int not null, "client_encrypted" boolean not null, "sealed_key" varchar(255) not null);`);
    this.addSql(`alter table "attachments" add constraint "attachments_uuid_unique" unique ("uuid");`);
    this.addSql(`create index "attachments_uploader_id_index" on "attachments" ("uploader_id");`);
    this.addSql(`create index "attachments_message_id_index" on "attachments" ("message_id");`);
    this.addSql(`create index "attachments_room_id_index" on "attachments" ("room_id");`);
    this.addSql(`create index "attachments_unlinked_index" on "attachments" ("created_at") where message_id is null;`);

    this.addSql(`alter table "attachments" add constraint "attachments_uploader_id_foreign" foreign key ("uploader_id") references "users" ("id") on delete cascade;`);
    this.addSql(`alter table "attachments" add constraint "attachments_message_id_foreign" foreign key ("message_id") references "room_messages" ("id") on delete cascade;`);
    this.addSql(`alter table "attachments" add constraint "attachments_room_id_foreign" foreign key ("room_id") references "rooms" ("id") on delete cascade;`);
    this.addSql(`alter table "attachments" add constraint "attachments_file_type_check" check ("file_type" in ('image', 'document', 'audio', 'video', 'other'));`);
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "attachments" cascade;`);
  }

}
