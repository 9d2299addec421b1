import { Migration } from '@mikro-orm/migrations';

export class Migration20261122130906 extends Migration {

  override name = 'Migration20261122130906';

  override up(): void | Promise<void> {
    this.addSql(`create table "ext_apps" ("id" serial primary key, "created_at" timestamptz(3) not null default now(), "updated_at" timestamptz(3) not null default now(), "name" varchar(120) not null, "description" text null, "url" varchar(2048) not null, "redirect_urls" text[] not null, "logo_url" varchar(2048) null, "public_key" text not null, "abilities" text[] not null, "needs_keys" boolean not null default true, "link_days" int not null default 90);`);
    this.addSql(`alter table "ext_apps" add constraint "ext_apps_name_unique" unique ("name");`);

    this.addSql(`create table "ext_app_credentials" ("id" serial primary key, "created_at" timestamptz(3) not null default now(), "updated_at" timestamptz(3) not null default now(), "app_id" int not null, "hash" char(64) not null, "expires_at" timestamptz(3) null, "last_used_at" timestamptz(3) null);`);
    this.addSql(`create index "ext_app_credentials_app_id_index" on "ext_app_credentials" ("app_id");`);

    this.addSql(`create table "ext_app_connect_requests" ("hash" varchar(43) not null, "user_id" int not null, "expires_at" timestamptz(3) not null, "used_at" timestamptz(3) null, primary key ("hash"));`);
    this.addSql(`create index "ext_app_connect_requests_user_id_index" on "ext_app_connect_requests" ("user_id");`);
    this.addSql(`create index "ext_app_connect_requests_expires_at_index" on "ext_app_connect_requests" ("expires_at");`);

    this.addSql(`create table "ext_app_links" ("id" serial primary key, "created_at" timestamptz(3) not null default now(), "updated_at" timestamptz(3) not null default now(), "app_id" int not null, "external_id" varchar(255) not null, "user_id" int not null, "token_id" int not null, "passkey" text null, "api_token" text not null, "private_key" text null);`);
    this.addSql(`create index "ext_app_links_user_id_index" on "ext_app_links" ("user_id");`);
    this.addSql(`alter table "ext_app_links" add constraint "ext_app_links_token_id_unique" unique ("token_id");`);
    this.addSql(`alter table "ext_app_links" add constraint "ext_app_links_user_unique" unique ("app_id", "external_id");`);

    this.addSql(`alter table "access_tokens" add "holder" text not null default 'person';`);
    this.addSql(`alter table "access_tokens" add constraint "access_tokens_holder_check" check ("holder" in ('person', 'app'));`);

    this.addSql(`alter table "ext_app_credentials" add constraint "ext_app_credentials_app_id_foreign" foreign key ("app_id") references "ext_apps" ("id") on delete cascade;`);

    this.addSql(`alter table "ext_app_connect_requests" add constraint "ext_app_connect_requests_user_id_foreign" foreign key ("user_id") references "users" ("id") on delete cascade;`);

    this.addSql(`alter table "ext_app_links" add constraint "ext_app_links_app_id_foreign" foreign key ("app_id") references "ext_apps" ("id") on delete cascade;`);
    this.addSql(`alter table "ext_app_links" add constraint "ext_app_links_user_id_foreign" foreign key ("user_id") references "users" ("id") on delete cascade;`);
    this.addSql(`alter table "ext_app_links" add constraint "ext_app_links_token_id_foreign" foreign key ("token_id") references "access_tokens" ("id") on delete cascade;`);
    this.addSql(`alter table "ext_app_links" add constraint "ext_app_links_keys_check" check ((passkey is null) = (private_key is null));`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "ext_app_credentials" drop constraint "ext_app_credentials_app_id_foreign";`);
    this.addSql(`alter table "ext_app_links" drop constraint "ext_app_links_app_id_foreign";`);

    this.addSql(`drop table if exists "ext_apps" cascade;`);
    this.addSql(`drop table if exists "ext_app_credentials" cascade;`);
    this.addSql(`drop table if exists "ext_app_connect_requests" cascade;`);
    this.addSql(`drop table if exists "ext_app_links" cascade;`);

    this.addSql(`alter table "access_tokens" drop constraint "access_tokens_holder_check";`);
    this.addSql(`alter table "access_tokens" drop column "holder";`);
  }

}
