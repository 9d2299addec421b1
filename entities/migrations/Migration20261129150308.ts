import { Migration } from '@mikro-orm/migrations';

export class Migration20261129150308 extends Migration {

  override name = 'Migration20261129150308';

  override up(): void | Promise<void> {
    this.addSql(`create table "oauth_clients" ("id" serial primary key, "created_at" timestamptz(3) not null default now(), "updated_at" timestamptz(3) not null default now(), "client_id" varchar(255) not null, "kind" text not null, "name" varchar(80) not null, "host" varchar(255) null, "redirect_uris" text[] not null, "secret_hash" char(64) null, "document" jsonb null, "fetched_at" timestamptz(3) null, "fresh_until" timestamptz(3) null, "blocked" boolean not null default false);`);
    this.addSql(`alter table "oauth_clients" add constraint "oauth_clients_client_id_unique" unique ("client_id");`);

    this.addSql(`create table "oauth_grants" ("id" serial primary key, "created_at" timestamptz(3) not null default now(), "updated_at" timestamptz(3) not null default now(), "user_id" int not null, "client_id" int not null, "token_id" int not null, "salt" varchar(32) not null, "generation" int not null default 0, "rotated_at" timestamptz(3) not null, "resources" text[] not null, "servers" int[] null, "ends_at" timestamptz(3) not null, "replayed_at" timestamptz(3) null, "device" varchar(40) null);`);
    this.addSql(`create index "oauth_grants_user_id_index" on "oauth_grants" ("user_id");`);
    this.addSql(`create index "oauth_grants_client_id_index" on "oauth_grants" ("client_id");`);
    this.addSql(`alter table "oauth_grants" add constraint "oauth_grants_token_id_unique" unique ("token_id");`);
    this.addSql(`create index "oauth_grants_ends_at_index" on "oauth_grants" ("ends_at");`);

    this.addSql(`create table "oauth_codes" ("hash" char(64) not null, "client_id" int not null, "user_id" int not null, "redirect_uri" text not null, "challenge" varchar(43) not null, "abilities" text[] not null, "resources" text[] not null, "servers" int[] null, "expires_at" timestamptz(3) not null, "grant_id" int null, primary key ("hash"));`);
    this.addSql(`create index "oauth_codes_client_id_index" on "oauth_codes" ("client_id");`);
    this.addSql(`create index "oauth_codes_user_id_index" on "oauth_codes" ("user_id");`);
    this.addSql(`create index "oauth_codes_expires_at_index" on "oauth_codes" ("expires_at");`);
    this.addSql(`create index "oauth_codes_grant_id_index" on "oauth_codes" ("grant_id");`);

    this.addSql(`alter table "access_tokens" drop constraint "access_tokens_holder_check";`);
    this.addSql(`alter table "access_tokens" add "previous" jsonb null;`);
    this.addSql(`alter table "access_tokens" add constraint "access_tokens_holder_check" check ("holder" in ('person', 'app', 'program'));`);

    this.addSql(`alter table "oauth_clients" add constraint "oauth_clients_kind_check" check ("kind" in ('registered', 'document', 'dynamic'));`);

    this.addSql(`alter table "oauth_grants" add constraint "oauth_grants_user_id_foreign" foreign key ("user_id") references "users" ("id") on delete cascade;`);
    this.addSql(`alter table "oauth_grants" add constraint "oauth_grants_client_id_foreign" foreign key ("client_id") references "oauth_clients" ("id") on delete cascade;`);
    this.addSql(`alter table "oauth_grants" add constraint "oauth_grants_token_id_foreign" foreign key ("token_id") references "access_tokens" ("id") on delete cascade;`);

    this.addSql(`alter table "oauth_codes" add constraint "oauth_codes_client_id_foreign" foreign key ("client_id") references "oauth_clients" ("id") on delete cascade;`);
    this.addSql(`alter table "oauth_codes" add constraint "oauth_codes_user_id_foreign" foreign key ("user_id") references "users" ("id") on delete cascade;`);
    this.addSql(`alter table "oauth_codes" add constraint "oauth_codes_grant_id_foreign" foreign key ("grant_id") references "oauth_grants" ("id") on delete cascade;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "oauth_grants" drop constraint "oauth_grants_client_id_foreign";`);
    this.addSql(`alter table "oauth_codes" drop constraint "oauth_codes_client_id_foreign";`);
    this.addSql(`alter table "oauth_codes" drop constraint "oauth_codes_grant_id_foreign";`);

    this.addSql(`drop table if exists "oauth_clients" cascade;`);
    this.addSql(`drop table if exists "oauth_grants" cascade;`);
    this.addSql(`drop table if exists "oauth_codes" cascade;`);

    this.addSql(`alter table "access_tokens" drop constraint "access_tokens_holder_check";`);
    this.addSql(`alter table "access_tokens" drop column "previous";`);
    this.addSql(`alter table "access_tokens" add constraint "access_tokens_holder_check" check ("holder" in ('person', 'app'));`);
  }

}
