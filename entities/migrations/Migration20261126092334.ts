import { Migration } from '@mikro-orm/migrations';

export class Migration20261126092334 extends Migration {

  override name = 'Migration20261126092334';

  override up(): void | Promise<void> {
    this.addSql(`create table "account_invitations" ("id" serial primary key, "created_at" timestamptz(3) not null default now(), "updated_at" timestamptz(3) not null default now(), "user_id" int not null, "hash" varchar(64) not null, "expires_at" timestamptz(3) not null);`);
    this.addSql(`alter table "account_invitations" add constraint "account_invitations_user_id_unique" unique ("user_id");`);
    this.addSql(`alter table "account_invitations" add constraint "account_invitations_hash_unique" unique ("hash");`);
    this.addSql(`create index "account_invitations_expires_at_index" on "account_invitations" ("expires_at");`);

    this.addSql(`alter table "ai_providers" add "groups" text[] not null default '{}';`);

    this.addSql(`alter table "ai_models" add "groups" text[] not null default '{}';`);

    this.addSql(`alter table "account_invitations" add constraint "account_invitations_user_id_foreign" foreign key ("user_id") references "users" ("id") on delete cascade;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "account_invitations" cascade;`);

    this.addSql(`alter table "ai_models" drop column "groups";`);

    this.addSql(`alter table "ai_providers" drop column "groups";`);
  }

}
