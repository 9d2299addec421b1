import { Migration } from '@mikro-orm/migrations';

export class Migration20261122064046 extends Migration {

  override name = 'Migration20261122064046';

  override up(): void | Promise<void> {
    this.addSql(`create table "usage_holds" ("id" bigserial primary key, "created_at" timestamptz(3) not null default now(), "lease_until" timestamptz(3) not null, "user_id" int null, "token_id" int null, "context" text not null, "provider" varchar(120) not null, "model" varchar(200) not null, "request_id" varchar(64) not null, "input_tokens" int not null, "output_tokens" int not null default 0, "pricing" jsonb null, "price_id" int null, "counters" bigint[] not null, "amounts" bigint[] not null, "measures" text[] not null);`);

    this.addSql(`create table "usage_limits" ("id" serial primary key, "created_at" timestamptz(3) not null default now(), "updated_at" timestamptz(3) not null default now(), "name" varchar(80) not null, "subject" text not null, "subject_id" varchar(200) null, "unit" text not null, "period" text not null, "time_zone" varchar(64) not null, "cap" bigint not null, "currency" char(3) null, "unpriced_cost" bigint null, "mode" text not null default 'enforce', "active" boolean not null default true, "from_file" boolean not null default false, "stripes" smallint not null default 1);`);
    this.addSql(`alter table "usage_limits" add constraint "usage_limits_name_unique" unique ("name");`);

    this.addSql(`create table "usage_counters" ("id" bigserial primary key, "limit_id" int not null, "subject_id" varchar(200) not null, "starts_at" timestamptz(3) not null, "ends_at" timestamptz(3) not null, "stripe" smallint not null, "used" bigint not null default '0', "held" bigint not null default '0', "share" bigint not null, "cap" bigint not null, "topped_up" bigint not null default '0', "refused" bigint not null default '0');`);
    this.addSql(`create index "usage_counters_ends_at_index" on "usage_counters" ("ends_at");`);
    this.addSql(`alter table "usage_counters" add constraint "usage_counters_limit_id_subject_id_starts_at_stripe_unique" unique ("limit_id", "subject_id", "starts_at", "stripe");`);

    this.addSql(`create table "usage_limit_versions" ("id" serial primary key, "version" int not null);`);

    this.addSql(`alter table "usage_rollups" drop constraint "usage_rollups_outcome_check";`);
    this.addSql(`alter table "usage_rollups" add constraint "usage_rollups_outcome_check" check ("outcome" in ('completed', 'failed', 'aborted', 'lost'));`);

    this.addSql(`alter table "usage_records" drop constraint "usage_records_outcome_check";`);
    this.addSql(`alter table "usage_records" add constraint "usage_records_outcome_check" check ("outcome" in ('completed', 'failed', 'aborted', 'lost'));`);

    this.addSql(`alter table "usage_holds" add constraint "usage_holds_context_check" check ("context" in ('api', 'private', 'group'));`);

    this.addSql(`alter table "usage_limits" add constraint "usage_limits_subject_check" check ("subject" in ('installation', 'provider', 'model', 'role', 'user', 'token'));`);
    this.addSql(`alter table "usage_limits" add constraint "usage_limits_unit_check" check ("unit" in ('requests', 'tokens', 'money'));`);
    this.addSql(`alter table "usage_limits" add constraint "usage_limits_period_check" check ("period" in ('minute', 'hour', 'day', 'week', 'month'));`);
    this.addSql(`alter table "usage_limits" add constraint "usage_limits_mode_check" check ("mode" in ('enforce', 'observe'));`);

    this.addSql(`alter table "usage_counters" add constraint "usage_counters_limit_id_foreign" foreign key ("limit_id") references "usage_limits" ("id") on delete cascade;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "usage_counters" drop constraint "usage_counters_limit_id_foreign";`);

    this.addSql(`drop table if exists "usage_holds" cascade;`);
    this.addSql(`drop table if exists "usage_limits" cascade;`);
    this.addSql(`drop table if exists "usage_counters" cascade;`);
    this.addSql(`drop table if exists "usage_limit_versions" cascade;`);

    this.addSql(`alter table "usage_records" drop constraint "usage_records_outcome_check";`);
    this.addSql(`alter table "usage_records" add constraint "usage_records_outcome_check" check ("outcome" in ('completed', 'failed', 'aborted'));`);

    this.addSql(`alter table "usage_rollups" drop constraint "usage_rollups_outcome_check";`);
    this.addSql(`alter table "usage_rollups" add constraint "usage_rollups_outcome_check" check ("outcome" in ('completed', 'failed', 'aborted'));`);
  }

}
