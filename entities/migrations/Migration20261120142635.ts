import { Migration } from '@mikro-orm/migrations';

export class Migration20261120142635 extends Migration {

  override name = 'Migration20261120142635';

  override up(): void | Promise<void> {
    this.addSql(`create table "passkey_backups" ("id" serial primary key, "created_at" timestamptz(3) not null default now(), "updated_at" timestamptz(3) not null default now(), "user_id" int not null, "ciphertext" text not null, "iv" varchar(64) not null, "tag" varchar(64) not null);`);
    this.addSql(`alter table "passkey_backups" add constraint "passkey_backups_user_id_unique" unique ("user_id");`);

    this.addSql(`create table "user_keychain_values" ("id" serial primary key, "created_at" timestamptz(3) not null default now(), "updated_at" timestamptz(3) not null default now(), "user_id" int not null, "key" varchar(255) not null, "key_type" text not null, "value" text not null);`);
    this.addSql(`alter table "user_keychain_values" add constraint "user_keychain_values_user_id_key_key_type_unique" unique ("user_id", "key", "key_type");`);

    this.addSql(`alter table "users" add "public_key" text null, add "session_epoch" int not null default 0;`);

    this.addSql(`alter table "passkey_backups" add constraint "passkey_backups_user_id_foreign" foreign key ("user_id") references "users" ("id") on delete cascade;`);

    this.addSql(`alter table "user_keychain_values" add constraint "user_keychain_values_user_id_foreign" foreign key ("user_id") references "users" ("id") on delete cascade;`);
    this.addSql(`alter table "user_keychain_values" add constraint "user_keychain_values_key_type_check" check ("key_type" in ('private_key', 'public_key', 'room_key', 'room_ai', 'room_ai_legacy', 'ai_conv'));`);
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "passkey_backups" cascade;`);
    this.addSql(`drop table if exists "user_keychain_values" cascade;`);

    this.addSql(`alter table "users" drop column "public_key", drop column "session_epoch";`);
  }

}
