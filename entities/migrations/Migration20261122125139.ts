import { Migration } from '@mikro-orm/migrations';

export class Migration20261122125139 extends Migration {

  override name = 'Migration20261122125139';

  override up(): void | Promise<void> {
    this.addSql(`alter table "mcp_servers" add "synced" jsonb null;`);

    this.addSql(`alter table "ai_tools" add "approved" jsonb null;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "ai_tools" drop column "approved";`);

    this.addSql(`alter table "mcp_servers" drop column "synced";`);
  }

}
