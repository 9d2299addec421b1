import { Migration } from '@mikro-orm/migrations';

export class Migration20261124023638 extends Migration {

  override name = 'Migration20261124023638';

  override up(): void | Promise<void> {
    // Keeps its pages when it is empty: of a table without any PostgreSQL plans to read it whole, whatever it holds a moment later.
    this.addSql(`alter table "usage_holds" set (vacuum_truncate = off);`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "usage_holds" reset (vacuum_truncate);`);
  }

}
