import { Migration } from '@mikro-orm/migrations';

export class Migration20261129081736 extends Migration {

  override name = 'Migration20261129081736';

  override up(): void | Promise<void> {
    this.addSql(`alter table "users" add "sealed_chat_settings" text null;`);

    this.addSql(`alter table "conversations" add "sealed_options" text null;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "conversations" drop column "sealed_options";`);

    this.addSql(`alter table "users" drop column "sealed_chat_settings";`);
  }

}
