import { Migration } from '@mikro-orm/migrations';

export class Migration20261125233134 extends Migration {

  override name = 'Migration20261125233134';

  override up(): void | Promise<void> {
    this.addSql(`alter table "ext_apps" alter column "needs_keys" set default false;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "ext_apps" alter column "needs_keys" set default true;`);
  }

}
