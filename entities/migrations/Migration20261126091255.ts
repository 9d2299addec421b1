import { Migration } from '@mikro-orm/migrations';

export class Migration20261126091255 extends Migration {

  override name = 'Migration20261126091255';

  override up(): void | Promise<void> {
    this.addSql(`alter table "ai_providers" add "groups" text[] not null default '{}';`);

    this.addSql(`alter table "ai_models" add "groups" text[] not null default '{}';`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "ai_models" drop column "groups";`);

    this.addSql(`alter table "ai_providers" drop column "groups";`);
  }

}
