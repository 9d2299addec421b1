import { Migration } from '@mikro-orm/migrations';

export class Migration20261120134238 extends Migration {

  override name = 'Migration20261120134238';

  override up(): void | Promise<void> {
    this.addSql(`create table "ai_providers" ("id" serial primary key, "created_at" timestamptz(3) not null default now(), "updated_at" timestamptz(3) not null default now(), "provider_id" varchar(120) not null, "adapter" varchar(40) not null, "name" varchar(120) not null, "active" boolean not null default true, "api_url" varchar(2048) null, "model_status_url" varchar(2048) null, "api_key" text null, "settings" jsonb not null default '{}', "synced" jsonb null);`);
    this.addSql(`alter table "ai_providers" add constraint "ai_providers_provider_id_unique" unique ("provider_id");`);

    this.addSql(`create table "ai_models" ("id" serial primary key, "created_at" timestamptz(3) not null default now(), "updated_at" timestamptz(3) not null default now(), "provider_id" int not null, "model_id" varchar(200) not null, "upstream_id" varchar(200) null, "model_type" varchar(40) not null default 'chat', "label" varchar(200) not null, "active" boolean not null default true, "status" text not null default 'unknown', "demand" text not null default 'low', "input" text[] not null default '{text}', "output" text[] not null default '{text}', "native_capabilities" text[] not null default '{}', "parameters" jsonb null, "settings" jsonb null, "limits" jsonb null, "pricing" jsonb null, "flags" text[] not null default '{}', "documentation_url" varchar(2048) null, "deprecation_date" timestamptz(3) null, "synced" jsonb null);`);
    this.addSql(`create index "ai_models_provider_id_index" on "ai_models" ("provider_id");`);
    this.addSql(`alter table "ai_models" add constraint "ai_models_model_id_unique" unique ("model_id");`);

    this.addSql(`create table "ai_model_usage_rules" ("model_id" int not null, "usage_type" text not null, primary key ("model_id", "usage_type"));`);

    this.addSql(`create table "ai_model_descriptions" ("id" serial primary key, "created_at" timestamptz(3) not null default now(), "updated_at" timestamptz(3) not null default now(), "model_id" int not null, "locale" varchar(10) not null, "description" text not null);`);
    this.addSql(`alter table "ai_model_descriptions" add constraint "ai_model_descriptions_model_id_locale_unique" unique ("model_id", "locale");`);

    this.addSql(`create table "mcp_servers" ("id" serial primary key, "created_at" timestamptz(3) not null default now(), "updated_at" timestamptz(3) not null default now(), "url" varchar(2048) not null, "transport" text not null default 'http', "server_label" varchar(120) not null, "description" text null, "version" varchar(80) null, "protocol_version" varchar(40) null, "require_approval" text not null default 'never', "api_key" text null, "additional_config" text null, "status" text not null default 'unknown', "timeouts" jsonb not null default '{}');`);
    this.addSql(`alter table "mcp_servers" add constraint "mcp_servers_url_unique" unique ("url");`);

    this.addSql(`create table "ai_tools" ("id" serial primary key, "created_at" timestamptz(3) not null default now(), "updated_at" timestamptz(3) not null default now(), "name" varchar(120) not null, "tool_type" text not null default 'function', "description" text not null default '', "server_id" int null, "mcp_name" varchar(200) null, "mcp_config" jsonb null, "capability" varchar(80) null, "mapped_capability" varchar(80) null, "active" boolean not null default true);`);
    this.addSql(`alter table "ai_tools" add constraint "ai_tools_name_unique" unique ("name");`);
    this.addSql(`create index "ai_tools_server_id_index" on "ai_tools" ("server_id");`);

    this.addSql(`create table "ai_model_tools" ("model_id" int not null, "tool_id" int not null, primary key ("model_id", "tool_id"));`);

    this.addSql(`create table "system_models" ("id" serial primary key, "created_at" timestamptz(3) not null default now(), "updated_at" timestamptz(3) not null default now(), "model_type" varchar(80) not null, "usage_type" text not null default 'main', "model_id" int not null, "synced" jsonb null);`);
    this.addSql(`create index "system_models_model_id_index" on "system_models" ("model_id");`);
    this.addSql(`alter table "system_models" add constraint "system_models_model_type_usage_type_unique" unique ("model_type", "usage_type");`);

    this.addSql(`create table "system_prompts" ("id" serial primary key, "created_at" timestamptz(3) not null default now(), "updated_at" timestamptz(3) not null default now(), "locale" varchar(10) not null, "prompt_type" varchar(80) not null, "usage_type" text not null default 'main', "prompt" text not null);`);
    this.addSql(`alter table "system_prompts" add constraint "system_prompts_locale_prompt_type_usage_type_unique" unique ("locale", "prompt_type", "usage_type");`);

    this.addSql(`create table "users" ("id" serial primary key, "created_at" timestamptz(3) not null default now(), "updated_at" timestamptz(3) not null default now(), "username" varchar(120) not null, "email" varchar(254) not null, "name" varchar(120) not null, "role" text not null default 'user', "bio" text null, "avatar" varchar(255) null);`);
    this.addSql(`alter table "users" add constraint "users_username_unique" unique ("username");`);
    this.addSql(`alter table "users" add constraint "users_email_unique" unique ("email");`);

    this.addSql(`create table "access_tokens" ("id" serial primary key, "created_at" timestamptz(3) not null default now(), "updated_at" timestamptz(3) not null default now(), "user_id" int not null, "name" varchar(16) not null, "hash" char(64) not null, "abilities" text[] not null, "expires_at" timestamptz(3) null, "last_used_at" timestamptz(3) null);`);
    this.addSql(`create index "access_tokens_user_id_index" on "access_tokens" ("user_id");`);

    this.addSql(`create table "usage_records" ("id" bigserial primary key, "created_at" timestamptz(3) not null default now(), "user_id" int null, "token_id" int null, "context" text not null, "provider" varchar(120) not null, "model" varchar(200) not null, "input_tokens" int not null default 0, "output_tokens" int not null default 0, "cached_tokens" int not null default 0, "reasoning_tokens" int not null default 0, "outcome" text not null, "duration_ms" int not null, "cost_micros" bigint null, "currency" char(3) null, "request_id" varchar(64) not null);`);
    this.addSql(`create index "usage_records_created_at_index" on "usage_records" ("created_at");`);
    this.addSql(`create index "usage_records_token_id_index" on "usage_records" ("token_id");`);
    this.addSql(`create index "usage_records_user_id_created_at_index" on "usage_records" ("user_id", "created_at");`);

    this.addSql(`alter table "ai_models" add constraint "ai_models_provider_id_foreign" foreign key ("provider_id") references "ai_providers" ("id") on delete cascade;`);
    this.addSql(`alter table "ai_models" add constraint "ai_models_status_check" check ("status" in ('online', 'offline', 'unknown'));`);
    this.addSql(`alter table "ai_models" add constraint "ai_models_demand_check" check ("demand" in ('low', 'medium', 'high'));`);

    this.addSql(`alter table "ai_model_usage_rules" add constraint "ai_model_usage_rules_model_id_foreign" foreign key ("model_id") references "ai_models" ("id") on delete cascade;`);
    this.addSql(`alter table "ai_model_usage_rules" add constraint "ai_model_usage_rules_usage_type_check" check ("usage_type" in ('main', 'external'));`);

    this.addSql(`alter table "ai_model_descriptions" add constraint "ai_model_descriptions_model_id_foreign" foreign key ("model_id") references "ai_models" ("id") on delete cascade;`);

    this.addSql(`alter table "mcp_servers" add constraint "mcp_servers_transport_check" check ("transport" in ('sse', 'http', 'stdio'));`);
    this.addSql(`alter table "mcp_servers" add constraint "mcp_servers_require_approval_check" check ("require_approval" in ('never', 'always', 'auto'));`);
    this.addSql(`alter table "mcp_servers" add constraint "mcp_servers_status_check" check ("status" in ('online', 'offline', 'unknown'));`);

    this.addSql(`alter table "ai_tools" add constraint "ai_tools_server_id_foreign" foreign key ("server_id") references "mcp_servers" ("id") on delete set null;`);
    this.addSql(`alter table "ai_tools" add constraint "ai_tools_tool_type_check" check ("tool_type" in ('function', 'mcp'));`);

    this.addSql(`alter table "ai_model_tools" add constraint "ai_model_tools_model_id_foreign" foreign key ("model_id") references "ai_models" ("id") on update cascade on delete cascade;`);
    this.addSql(`alter table "ai_model_tools" add constraint "ai_model_tools_tool_id_foreign" foreign key ("tool_id") references "ai_tools" ("id") on update cascade on delete cascade;`);

    this.addSql(`alter table "system_models" add constraint "system_models_model_id_foreign" foreign key ("model_id") references "ai_models" ("id") on delete restrict;`);
    this.addSql(`alter table "system_models" add constraint "system_models_usage_type_check" check ("usage_type" in ('main', 'external'));`);

    this.addSql(`alter table "system_prompts" add constraint "system_prompts_usage_type_check" check ("usage_type" in ('main', 'external'));`);

    this.addSql(`alter table "users" add constraint "users_role_check" check ("role" in ('user', 'admin'));`);

    this.addSql(`alter table "access_tokens" add constraint "access_tokens_user_id_foreign" foreign key ("user_id") references "users" ("id") on delete cascade;`);

    this.addSql(`alter table "usage_records" add constraint "usage_records_user_id_foreign" foreign key ("user_id") references "users" ("id") on delete set null;`);
    this.addSql(`alter table "usage_records" add constraint "usage_records_token_id_foreign" foreign key ("token_id") references "access_tokens" ("id") on delete set null;`);
    this.addSql(`alter table "usage_records" add constraint "usage_records_context_check" check ("context" in ('api', 'private', 'group'));`);
    this.addSql(`alter table "usage_records" add constraint "usage_records_outcome_check" check ("outcome" in ('completed', 'failed', 'aborted'));`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "ai_models" drop constraint "ai_models_provider_id_foreign";`);
    this.addSql(`alter table "ai_model_usage_rules" drop constraint "ai_model_usage_rules_model_id_foreign";`);
    this.addSql(`alter table "ai_model_descriptions" drop constraint "ai_model_descriptions_model_id_foreign";`);
    this.addSql(`alter table "ai_model_tools" drop constraint "ai_model_tools_model_id_foreign";`);
    this.addSql(`alter table "system_models" drop constraint "system_models_model_id_foreign";`);
    this.addSql(`alter table "ai_tools" drop constraint "ai_tools_server_id_foreign";`);
    this.addSql(`alter table "ai_model_tools" drop constraint "ai_model_tools_tool_id_foreign";`);
    this.addSql(`alter table "access_tokens" drop constraint "access_tokens_user_id_foreign";`);
    this.addSql(`alter table "usage_records" drop constraint "usage_records_user_id_foreign";`);
    this.addSql(`alter table "usage_records" drop constraint "usage_records_token_id_foreign";`);

    this.addSql(`drop table if exists "ai_providers" cascade;`);
    this.addSql(`drop table if exists "ai_models" cascade;`);
    this.addSql(`drop table if exists "ai_model_usage_rules" cascade;`);
    this.addSql(`drop table if exists "ai_model_descriptions" cascade;`);
    this.addSql(`drop table if exists "mcp_servers" cascade;`);
    this.addSql(`drop table if exists "ai_tools" cascade;`);
    this.addSql(`drop table if exists "ai_model_tools" cascade;`);
    this.addSql(`drop table if exists "system_models" cascade;`);
    this.addSql(`drop table if exists "system_prompts" cascade;`);
    this.addSql(`drop table if exists "users" cascade;`);
    this.addSql(`drop table if exists "access_tokens" cascade;`);
    this.addSql(`drop table if exists "usage_records" cascade;`);
  }

}
