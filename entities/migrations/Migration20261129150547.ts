import { Migration } from '@mikro-orm/migrations';

export class Migration20261129150547 extends Migration {

  override name = 'Migration20261129150547';

  override up(): void | Promise<void> {
    this.addSql(`alter table "mcp_servers" add "groups" text[] not null default '{}', add "gateway" boolean not null default true;`);
    // Their keys were given for calls of models.
    this.addSql(`update "mcp_servers" set "gateway" = false;`);

    this.addSql(`alter table "ai_tools" add "groups" text[] not null default '{}';`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "ai_tools" drop column "groups";`);

    this.addSql(`alter table "mcp_servers" drop column "groups", drop column "gateway";`);
  }

}
