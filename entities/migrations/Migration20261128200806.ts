import { Migration } from '@mikro-orm/migrations';

export class Migration20261128200806 extends Migration {

  override name = 'Migration20261128200806';

  override up(): void | Promise<void> {
    this.addSql(`alter table "audit_heads" add "removed_seal" text null;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "audit_heads" drop column "removed_seal";`);
  }

}
