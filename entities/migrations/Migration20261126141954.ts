import { Migration } from '@mikro-orm/migrations';

export class Migration20261126141954 extends Migration {

  override name = 'Migration20261126141954';

  override up(): void | Promise<void> {
    this.addSql(`alter table "ai_models" add "position" int null;`);

    this.addSql(`alter table "usage_records" add "first_piece_ms" int null;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "ai_models" drop column "position";`);

    this.addSql(`alter table "usage_records" drop column "first_piece_ms";`);
  }

}
