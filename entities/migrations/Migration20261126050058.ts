import { Migration } from '@mikro-orm/migrations';

export class Migration20261126050058 extends Migration {

  override name = 'Migration20261126050058';

  override up(): void | Promise<void> {
    this.addSql(`alter table "conversations" add "import_id" varchar(64) null;`);
    this.addSql(`alter table "conversations" add constraint "conversations_user_id_import_id_unique" unique ("user_id", "import_id");`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "conversations" drop constraint "conversations_user_id_import_id_unique";`);
    this.addSql(`alter table "conversations" drop column "import_id";`);
  }

}
