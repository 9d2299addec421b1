import { Migration } from '@mikro-orm/migrations';

export class Migration20261122064102 extends Migration {

  override name = 'Migration20261122064102';

  override up(): void | Promise<void> {
    this.addSql(`alter table "room_messages" add "thread_id" int null, add "ordinal" int not null;`);
    this.addSql(`alter table "room_messages" add constraint "room_messages_thread_id_foreign" foreign key ("thread_id") references "room_messages" ("id") on delete cascade;`);
    this.addSql(`create index "room_messages_thread_id_sub_seq_index" on "room_messages" ("thread_id", "sub_seq");`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "room_messages" drop constraint "room_messages_thread_id_foreign";`);

    this.addSql(`drop index "room_messages_thread_id_sub_seq_index";`);
    this.addSql(`alter table "room_messages" drop column "thread_id", drop column "ordinal";`);
  }

}
