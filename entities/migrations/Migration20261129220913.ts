import { Migration } from '@mikro-orm/migrations';

export class Migration20261129220913 extends Migration {

  override name = 'Migration20261129220913';

  override up(): void | Promise<void> {
    this.addSql(`alter table "usage_holds" add "ticket" uuid null;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "usage_holds" drop column "ticket";`);
  }

}
