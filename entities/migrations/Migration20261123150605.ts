import { Migration } from '@mikro-orm/migrations';

export class Migration20261123150605 extends Migration {

  override name = 'Migration20261123150605';

  override up(): void | Promise<void> {
    this.addSql(`-- WARNING: changing partitioning rebuilds the table by copying all rows into a new partitioned table under an exclusive lock.;`);
    this.addSql(`-- Review for data volume, locking and downtime before running.;`);
    this.addSql(`create schema if not exists "mikro_orm_partition_swap";`);
    this.addSql(`alter table "usage_records" set schema "mikro_orm_partition_swap";`);
    this.addSql(`create table "usage_records" ("id" bigserial not null, "created_at" timestamptz(3) not null default now(), "user_id" int null, "token_id" int null, "room_id" int null, "app_id" int null, "context" text not null, "provider" varchar(120) not null, "model" varchar(200) not null, "input_tokens" int not null default 0, "output_tokens" int not null default 0, "cached_tokens" int not null default 0, "cache_write_tokens" int not null default 0, "reasoning_tokens" int not null default 0, "web_searches" int not null default 0, "web_fetches" int not null default 0, "estimated" boolean not null default false, "outcome" text not null, "duration_ms" int not null, "cost_micros" bigint null, "currency" char(3) null, "price_id" int null, "request_id" varchar(64) not null, primary key ("id", "created_at")) partition by range ("created_at");`);
    this.addSql(`create index "usage_records_created_at_index" on "usage_records" ("created_at");`);
    this.addSql(`create index "usage_records_token_id_index" on "usage_records" ("token_id");`);
    this.addSql(`create index "usage_records_user_id_created_at_index" on "usage_records" ("user_id", "created_at");`);
    this.addSql(`create table "usage_records_default" partition of "usage_records" default;`);
    this.addSql(`alter table "usage_records" add constraint "usage_records_user_id_foreign" foreign key ("user_id") references "users" ("id") on delete set null;`);
    this.addSql(`alter table "usage_records" add constraint "usage_records_token_id_foreign" foreign key ("token_id") references "access_tokens" ("id") on delete set null;`);
    this.addSql(`insert into "usage_records" ("id", "created_at", "user_id", "token_id", "room_id", "app_id", "context", "provider", "model", "input_tokens", "output_tokens", "cached_tokens", "cache_write_tokens", "reasoning_tokens", "web_searches", "web_fetches", "estimated", "outcome", "duration_ms", "cost_micros", "currency", "price_id", "request_id") select "id", "created_at", "user_id", "token_id", "room_id", "app_id", "context", "provider", "model", "input_tokens", "output_tokens", "cached_tokens", "cache_write_tokens", "reasoning_tokens", "web_searches", "web_fetches", "estimated", "outcome", "duration_ms", "cost_micros", "currency", "price_id", "request_id" from "mikro_orm_partition_swap"."usage_records";`);
    this.addSql(`select setval('usage_records_id_seq', "last_value", "is_called") from "mikro_orm_partition_swap"."usage_records_id_seq";`);
    this.addSql(`drop schema if exists "mikro_orm_partition_swap" cascade;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "usage_records" drop constraint "usage_records_pkey";`);
    this.addSql(`alter table "usage_records" add primary key ("id");`);
  }

}
