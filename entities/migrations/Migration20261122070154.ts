import { Migration } from '@mikro-orm/migrations';

export class Migration20261122070154 extends Migration {

  override name = 'Migration20261122070154';

  override up(): void | Promise<void> {
    this.addSql(`create table "usage_notices" ("counter_id" bigint not null, "percent" smallint not null, "created_at" timestamptz(3) not null default now(), primary key ("counter_id", "percent"));`);

    this.addSql(`alter table "usage_notices" add constraint "usage_notices_counter_id_foreign" foreign key ("counter_id") references "usage_counters" ("id") on delete cascade;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "usage_notices" cascade;`);
  }

}
