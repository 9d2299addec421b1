import { Migration } from '@mikro-orm/migrations';

export class Migration20261126093537 extends Migration {

  override name = 'Migration20261126093537';

  override up(): void | Promise<void> {
    this.addSql(`create table "usage_closings" ("id" serial primary key, "month" date not null, "closed_at" timestamptz(3) not null default now(), "last_record" bigint not null);`);
    this.addSql(`alter table "usage_closings" add constraint "usage_closings_month_unique" unique ("month");`);

    this.addSql(`create table "usage_bills" ("id" bigserial primary key, "closing_id" int not null, "grouping" text not null, "user_id" int null, "name" varchar(200) null, "currency" char(3) null, "requests" bigint not null, "estimated" bigint not null, "unpriced" bigint not null, "input_tokens" bigint not null, "output_tokens" bigint not null, "cost_micros" bigint null);`);
    this.addSql(`create index "usage_bills_user_id_index" on "usage_bills" ("user_id");`);
    this.addSql(`create index "usage_bills_closing_id_grouping_index" on "usage_bills" ("closing_id", "grouping");`);

    this.addSql(`create table "account_invitations" ("id" serial primary key, "created_at" timestamptz(3) not null default now(), "updated_at" timestamptz(3) not null default now(), "user_id" int not null, "hash" varchar(64) not null, "expires_at" timestamptz(3) not null);`);
    this.addSql(`alter table "account_invitations" add constraint "account_invitations_user_id_unique" unique ("user_id");`);
    this.addSql(`alter table "account_invitations" add constraint "account_invitations_hash_unique" unique ("hash");`);
    this.addSql(`create index "account_invitations_expires_at_index" on "account_invitations" ("expires_at");`);

    this.addSql(`alter table "ai_providers" add "groups" text[] not null default '{}';`);

    this.addSql(`alter table "ai_models" add "groups" text[] not null default '{}';`);

    this.addSql(`alter table "usage_bills" add constraint "usage_bills_closing_id_foreign" foreign key ("closing_id") references "usage_closings" ("id") on delete cascade;`);
    this.addSql(`alter table "usage_bills" add constraint "usage_bills_user_id_foreign" foreign key ("user_id") references "users" ("id") on delete set null;`);
    this.addSql(`alter table "usage_bills" add constraint "usage_bills_grouping_check" check ("grouping" in ('user', 'group', 'app', 'model', 'provider'));`);

    this.addSql(`alter table "account_invitations" add constraint "account_invitations_user_id_foreign" foreign key ("user_id") references "users" ("id") on delete cascade;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "usage_bills" drop constraint "usage_bills_closing_id_foreign";`);

    this.addSql(`drop table if exists "usage_closings" cascade;`);
    this.addSql(`drop table if exists "usage_bills" cascade;`);
    this.addSql(`drop table if exists "account_invitations" cascade;`);

    this.addSql(`alter table "ai_models" drop column "groups";`);

    this.addSql(`alter table "ai_providers" drop column "groups";`);
  }

}
