import { Migration } from '@mikro-orm/migrations';

export class Migration20261128203603 extends Migration {

  override name = 'Migration20261128203603';

  override up(): void | Promise<void> {
    this.addSql(`alter table "usage_limits" add "counts_from" timestamptz(3) null;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "usage_limits" drop column "counts_from";`);
  }

}
