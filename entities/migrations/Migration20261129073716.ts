import { Migration } from '@mikro-orm/migrations';

export class Migration20261129073716 extends Migration {

  override name = 'Migration20261129073716';

  override up(): void | Promise<void> {
    this.addSql(`alter table "conversations" add "sealed_name" text null;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "conversations" drop column "sealed_name";`);
  }

}
