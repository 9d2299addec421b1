import { Migration } from '@mikro-orm/migrations';

export class Migration20261129153613 extends Migration {

  override name = 'Migration20261129153613';

  override up(): void | Promise<void> {
    this.addSql(`alter table "mcp_servers" drop constraint "mcp_servers_require_approval_check";`);
    this.addSql(`alter table "mcp_servers" add constraint "mcp_servers_require_approval_check" check ("require_approval" in ('never', 'always', 'page', 'auto'));`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "mcp_servers" drop constraint "mcp_servers_require_approval_check";`);
    this.addSql(`alter table "mcp_servers" add constraint "mcp_servers_require_approval_check" check ("require_approval" in ('never', 'always', 'auto'));`);
  }

}
