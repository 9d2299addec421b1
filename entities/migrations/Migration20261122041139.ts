import { Migration } from '@mikro-orm/migrations';

export class Migration20261122041139 extends Migration {

  override name = 'Migration20261122041139';

  override up(): void | Promise<void> {
    this.addSql(`alter table "ai_providers" add "homepage" varchar(2048) null;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "ai_providers" drop column "homepage";`);
  }

}
