import { Migration } from '@mikro-orm/migrations';

export class Migration20261122061501 extends Migration {

  override name = 'Migration20261122061501';

  override up(): void | Promise<void> {
    this.addSql(`create table "rooms" ("id" serial primary key, "created_at" timestamptz(3) not null default now(), "updated_at" timestamptz(3) not null default now(), "name" varchar(120) not null, "slug" varchar(140) not null, "avatar" varchar(255) null, "room_description" text null, "system_prompt" text null, "key_epoch" int not null default 0);`);
    this.addSql(`alter table "rooms" add constraint "rooms_slug_unique" unique ("slug");`);

    this.addSql(`create table "room_read_marks" ("user_id" int not null, "room_id" int not null, "up_to" int not null, "read_at" timestamptz(3) not null default now(), primary key ("user_id", "room_id"));`);

    this.addSql(`create table "room_members" ("id" serial primary key, "created_at" timestamptz(3) not null default now(), "updated_at" timestamptz(3) not null default now(), "room_id" int not null, "user_id" int null, "role" text not null, "state" text not null default 'member', "inviter_id" int null, "wrapped_key" text null, "key_epoch" int null, "proof_hash" varchar(43) null, "expires_at" timestamptz(3) null);`);
    this.addSql(`create index "room_members_user_id_index" on "room_members" ("user_id");`);
    this.addSql(`create index "room_members_inviter_id_index" on "room_members" ("inviter_id");`);
    this.addSql(`alter table "room_members" add constraint "room_members_proof_hash_unique" unique ("proof_hash");`);
    this.addSql(`create unique index "room_members_membership_unique" on "room_members" ("room_id", "user_id") where state <> 'invited';`);
    this.addSql(`create unique index "room_members_invitation_unique" on "room_members" ("room_id", "user_id") where state = 'invited';`);

    this.addSql(`create table "room_messages" ("id" serial primary key, "created_at" timestamptz(3) not null default now(), "updated_at" timestamptz(3) not null default now(), "room_id" int not null, "member_id" int not null, "seq" int not null, "sub_seq" int not null default 0, "content" text null, "key_epoch" int not null, "client_id" varchar(64) null, "edited_at" timestamptz(3) null, "deleted_at" timestamptz(3) null);`);
    this.addSql(`create index "room_messages_room_id_id_index" on "room_messages" ("room_id", "id");`);
    this.addSql(`alter table "room_messages" add constraint "room_messages_room_id_seq_sub_seq_unique" unique ("room_id", "seq", "sub_seq");`);
    this.addSql(`alter table "room_messages" add constraint "room_messages_member_id_client_id_unique" unique ("member_id", "client_id");`);

    this.addSql(`alter table "room_read_marks" add constraint "room_read_marks_user_id_foreign" foreign key ("user_id") references "users" ("id") on update cascade on delete cascade;`);
    this.addSql(`alter table "room_read_marks" add constraint "room_read_marks_room_id_foreign" foreign key ("room_id") references "rooms" ("id") on update cascade on delete cascade;`);

    this.addSql(`alter table "room_members" add constraint "room_members_room_id_foreign" foreign key ("room_id") references "rooms" ("id") on delete cascade;`);
    this.addSql(`alter table "room_members" add constraint "room_members_user_id_foreign" foreign key ("user_id") references "users" ("id") on delete set null;`);
    this.addSql(`alter table "room_members" add constraint "room_members_inviter_id_foreign" foreign key ("inviter_id") references "users" ("id") on delete set null;`);
    this.addSql(`alter table "room_members" add constraint "room_members_invitation_check" check ((state = 'invited') = (num_nonnulls(wrapped_key, key_epoch, expires_at) = 3));`);
    this.addSql(`alter table "room_members" add constraint "room_members_role_check" check ("role" in ('admin', 'editor', 'viewer', 'assistant'));`);
    this.addSql(`alter table "room_members" add constraint "room_members_state_check" check ("state" in ('member', 'invited', 'removed'));`);

    this.addSql(`alter table "room_messages" add constraint "room_messages_room_id_foreign" foreign key ("room_id") references "rooms" ("id") on delete cascade;`);
    this.addSql(`alter table "room_messages" add constraint "room_messages_member_id_foreign" foreign key ("member_id") references "room_members" ("id") on delete no action;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "room_read_marks" drop constraint "room_read_marks_room_id_foreign";`);
    this.addSql(`alter table "room_members" drop constraint "room_members_room_id_foreign";`);
    this.addSql(`alter table "room_messages" drop constraint "room_messages_room_id_foreign";`);
    this.addSql(`alter table "room_messages" drop constraint "room_messages_member_id_foreign";`);

    this.addSql(`drop table if exists "rooms" cascade;`);
    this.addSql(`drop table if exists "room_read_marks" cascade;`);
    this.addSql(`drop table if exists "room_members" cascade;`);
    this.addSql(`drop table if exists "room_messages" cascade;`);
  }

}
