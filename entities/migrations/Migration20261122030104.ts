import { Migration } from '@mikro-orm/migrations';

export class Migration20261122030104 extends Migration {

  override name = 'Migration20261122030104';

  override up(): void | Promise<void> {
    this.addSql(`create table "sessions" ("hash" varchar(43) not null, "user_id" int null, "subject" jsonb null, "method" text not null, "signed_in_at" timestamptz(3) not null, "renewed_at" timestamptz(3) not null, "csrf_token" varchar(43) not null, "user_agent" varchar(200) null, "locale" varchar(5) null, primary key ("hash"));`);
    this.addSql(`create index "sessions_user_id_index" on "sessions" ("user_id");`);
    this.addSql(`create index "sessions_renewed_at_index" on "sessions" ("renewed_at");`);
    this.addSql(`create index "sessions_subject_username_index" on "sessions" ((subject->>'username'));`);

    this.addSql(`alter table "users" drop column "session_epoch";`);
    this.addSql(`alter table "users" add "password_changed_at" timestamptz(3) null;`);

    this.addSql(`alter table "sessions" add constraint "sessions_user_id_foreign" foreign key ("user_id") references "users" ("id") on delete cascade;`);
    this.addSql(`alter table "sessions" add constraint "sessions_owner_check" check (num_nonnulls(user_id, subject) = 1);`);
    this.addSql(`alter table "sessions" add constraint "sessions_method_check" check ("method" in ('password', 'oidc', 'proxy'));`);
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "sessions" cascade;`);

    this.addSql(`alter table "users" drop column "password_changed_at";`);
    this.addSql(`alter table "users" add "session_epoch" int4 not null default 0;`);
  }

}
