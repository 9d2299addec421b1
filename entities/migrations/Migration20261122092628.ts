import { Migration } from '@mikro-orm/migrations';

export class Migration20261122092628 extends Migration {

  override name = 'Migration20261122092628';

  override up(): void | Promise<void> {
    this.addSql(`alter table "usage_holds" drop column "pricing";`);
    this.addSql(`alter table "usage_holds" add "cached_tokens" int not null default 0, add "cache_write_tokens" int not null default 0, add "reasoning_tokens" int not null default 0, add "cost_micros" bigint null, add "currency" char(3) null;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "usage_holds" drop column "cached_tokens", drop column "cache_write_tokens", drop column "reasoning_tokens", drop column "cost_micros", drop column "currency";`);
    this.addSql(`alter table "usage_holds" add "pricing" jsonb null;`);
  }

}
