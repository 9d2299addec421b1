import { Migration } from '@mikro-orm/migrations';

export class Migration20261122063225 extends Migration {

  override name = 'Migration20261122063225';

  override up(): void | Promise<void> {
    this.addSql(`create table "usage_rollups" ("id" bigserial primary key, "day" date not null, "user_id" int null, "context" text not null, "provider" varchar(120) not null, "model" varchar(200) not null, "outcome" text not null, "currency" char(3) null, "requests" int not null, "estimated" int not null, "unpriced" int not null, "input_tokens" bigint not null, "output_tokens" bigint not null, "cached_tokens" bigint not null, "cache_write_tokens" bigint not null, "reasoning_tokens" bigint not null, "cost_micros" bigint null);`);
    this.addSql(`create index "usage_rollups_day_index" on "usage_rollups" ("day");`);
    this.addSql(`create index "usage_rollups_user_id_day_index" on "usage_rollups" ("user_id", "day");`);

    this.addSql(`alter table "usage_rollups" add constraint "usage_rollups_user_id_foreign" foreign key ("user_id") references "users" ("id") on delete set null;`);
    this.addSql(`alter table "usage_rollups" add constraint "usage_rollups_context_check" check ("context" in ('api', 'private', 'group'));`);
    this.addSql(`alter table "usage_rollups" add constraint "usage_rollups_outcome_check" check ("outcome" in ('completed', 'failed', 'aborted'));`);
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "usage_rollups" cascade;`);
  }

}
