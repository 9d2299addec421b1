import { Migration } from '@mikro-orm/migrations';

export class Migration20261130022904 extends Migration {

  override name = 'Migration20261130022904';

  override up(): void | Promise<void> {
    this.addSql(`alter table "room_disclosures" add "knowledge" jsonb null;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "room_disclosures" drop column "knowledge";`);
  }

}
