import { Migration } from '@mikro-orm/migrations';

export class Migration20261129033359 extends Migration {

  override name = 'Migration20261129033359';

  override up(): void | Promise<void> {
    this.addSql(`alter table "usage_limits" alter column "stripes" drop default;`);
    this.addSql(`alter table "usage_limits" alter column "stripes" drop not null;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "usage_limits" alter column "stripes" set default 1;`);
    this.addSql(`alter table "usage_limits" alter column "stripes" set not null;`);
  }

}
