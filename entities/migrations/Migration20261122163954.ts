import { Migration } from '@mikro-orm/migrations';

export class Migration20261122163954 extends Migration {

  override name = 'Migration20261122163954';

  override up(): void | Promise<void> {
    this.addSql(`alter table "ai_providers" add "servers" jsonb not null default '[]';`);

    this.addSql(`alter table "ai_models" add "fallback" text[] not null default '{}';`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "ai_models" drop column "fallback";`);

    this.addSql(`alter table "ai_providers" drop column "servers";`);
  }

}
