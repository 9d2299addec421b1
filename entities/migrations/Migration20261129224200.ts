import { Migration } from '@mikro-orm/migrations';

export class Migration20261129224200 extends Migration {

  override name = 'Migration20261129224200';

  override up(): void | Promise<void> {
    this.addSql(`alter table "room_disclosures" add "assistant" varchar(80) null;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "room_disclosures" drop column "assistant";`);
  }

}
