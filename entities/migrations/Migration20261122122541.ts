import { Migration } from '@mikro-orm/migrations';

export class Migration20261122122541 extends Migration {

  override name = 'Migration20261122122541';

  override up(): void | Promise<void> {
    this.addSql(`create table "conversations" ("id" serial primary key, "created_at" timestamptz(3) not null default now(), "updated_at" timestamptz(3) not null default now(), "slug" varchar(16) not null, "user_id" int not null, "name" varchar(255) not null, "system_prompt" text null, "last_seq" int not null default 0, "message_count" int not null default 0, "bytes" bigint not null default '0');`);
    this.addSql(`alter table "conversations" add constraint "conversations_slug_unique" unique ("slug");`);
    this.addSql(`create index "conversations_user_id_updated_at_id_index" on "conversations" ("user_id", "updated_at", "id");`);

    this.addSql(`create table "conversation_messages" ("id" serial primary key, "created_at" timestamptz(3) not null default now(), "updated_at" timestamptz(3) not null default now(), "conversation_id" int not null, "seq" int not null, "sub_seq" int not null default 0, "last_sub_seq" int not null default 0, "role" text not null, "model" varchar(255) null, "content" text null, "metadata" jsonb null, "is_complete" boolean not null, "bytes" int not null);`);
    this.addSql(`alter table "conversation_messages" add constraint "conversation_messages_conversation_id_seq_sub_seq_unique" unique ("conversation_id", "seq", "sub_seq");`);

    this.addSql(`drop index "attachments_unlinked_index";`);
    this.addSql(`alter table "attachments" add "conversation_message_id" int null;`);
    this.addSql(`alter table "attachments" add constraint "attachments_conversation_message_id_foreign" foreign key ("conversation_message_id") references "conversation_messages" ("id") on delete cascade;`);
    this.addSql(`create index "attachments_conversation_message_id_index" on "attachments" ("conversation_message_id");`);
    this.addSql(`create index "attachments_waiting_index" on "attachments" ("created_at") where message_id is null and conversation_message_id is null;`);
    this.addSql(`alter table "attachments" add constraint "attachments_one_message_check" check (num_nonnulls(message_id, conversation_message_id) <= 1);`);

    this.addSql(`alter table "conversations" add constraint "conversations_user_id_foreign" foreign key ("user_id") references "users" ("id") on delete cascade;`);

    this.addSql(`alter table "conversation_messages" add constraint "conversation_messages_conversation_id_foreign" foreign key ("conversation_id") references "conversations" ("id") on delete cascade;`);
    this.addSql(`alter table "conversation_messages" add constraint "conversation_messages_role_check" check ("role" in ('user', 'assistant'));`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "conversation_messages" drop constraint "conversation_messages_conversation_id_foreign";`);
    this.addSql(`alter table "attachments" drop constraint "attachments_conversation_message_id_foreign";`);

    this.addSql(`drop table if exists "conversations" cascade;`);
    this.addSql(`drop table if exists "conversation_messages" cascade;`);

    this.addSql(`drop index "attachments_conversation_message_id_index";`);
    this.addSql(`drop index "attachments_waiting_index";`);
    this.addSql(`alter table "attachments" drop constraint "attachments_one_message_check";`);
    this.addSql(`alter table "attachments" drop column "conversation_message_id";`);
    this.addSql(`create index "attachments_unlinked_index" on "attachments" ("created_at") where message_id IS NULL;`);
  }

}
