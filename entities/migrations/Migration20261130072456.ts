import { Migration } from '@mikro-orm/migrations';

export class Migration20261130072456 extends Migration {

  override name = 'Migration20261130072456';

  override up(): void | Promise<void> {
    this.addSql(`alter table "access_tokens" add "models" jsonb null;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "access_tokens" drop column "models";`);
  }

}
