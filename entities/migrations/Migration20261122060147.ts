import { Migration } from '@mikro-orm/migrations';

export class Migration20261122060147 extends Migration {

  override name = 'Migration20261122060147';

  override up(): void | Promise<void> {
    this.addSql(`alter table "usage_records" add "cache_write_tokens" int not null default 0, add "estimated" boolean not null default false;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "usage_records" drop column "cache_write_tokens", drop column "estimated";`);
  }

}
