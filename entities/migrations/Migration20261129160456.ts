import { Migration } from '@mikro-orm/migrations';

export class Migration20261129160456 extends Migration {

  override name = 'Migration20261129160456';

  override up(): void | Promise<void> {
    this.addSql(`create table "mcp_connections" ("id" serial primary key, "created_at" timestamptz(3) not null default now(), "updated_at" timestamptz(3) not null default now(), "user_id" int not null, "server_id" int not null, "url" varchar(2048) not null, "issuer" varchar(2048) not null, "client" text not null, "tokens" text null, "scopes" jsonb null, "expires_at" timestamptz(3) null, "refresh_until" timestamptz(3) null, "state" text not null default 'active', "account" varchar(200) null);`);
    this.addSql(`create index "mcp_connections_server_id_index" on "mcp_connections" ("server_id");`);
    this.addSql(`alter table "mcp_connections" add constraint "mcp_connections_user_server_unique" unique ("user_id", "server_id");`);

    this.addSql(`alter table "mcp_servers" add "account" text not null default 'shared', add "oauth_client_id" varchar(2048) null, add "oauth_client_secret" text null, add "oauth_scopes" jsonb null, add "oauth_issuer" varchar(2048) null;`);
    this.addSql(`alter table "mcp_servers" add constraint "mcp_servers_account_check" check ("account" in ('none', 'shared', 'person'));`);

    this.addSql(`alter table "mcp_connections" add constraint "mcp_connections_user_id_foreign" foreign key ("user_id") references "users" ("id") on delete cascade;`);
    this.addSql(`alter table "mcp_connections" add constraint "mcp_connections_server_id_foreign" foreign key ("server_id") references "mcp_servers" ("id") on delete cascade;`);
    this.addSql(`alter table "mcp_connections" add constraint "mcp_connections_state_check" check ("state" in ('active', 'expired'));`);
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "mcp_connections" cascade;`);

    this.addSql(`alter table "mcp_servers" drop constraint "mcp_servers_account_check";`);
    this.addSql(`alter table "mcp_servers" drop column "account", drop column "oauth_client_id", drop column "oauth_client_secret", drop column "oauth_scopes", drop column "oauth_issuer";`);
  }

}
