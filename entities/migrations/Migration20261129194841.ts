import { Migration } from '@mikro-orm/migrations';

export class Migration20261129194841 extends Migration {

  override name = 'Migration20261129194841';

  override up(): void | Promise<void> {
    this.addSql(`alter table "freed_tool_names" add "kind" text not null default 'tool';`);
    this.addSql(`alter table "freed_tool_names" alter column "mcp_name" type varchar(2048) using ("mcp_name"::varchar(2048));`);
    this.addSql(`alter table "freed_tool_names" add constraint "freed_tool_names_kind_check" check ("kind" in ('tool', 'prompt', 'resource', 'template'));`);

    this.addSql(`alter table "mcp_servers" add "offers" text[] not null default '{}';`);

    this.addSql(`alter table "ai_tools" add "kind" text not null default 'tool';`);
    this.addSql(`alter table "ai_tools" alter column "mcp_name" type varchar(2048) using ("mcp_name"::varchar(2048));`);
    this.addSql(`alter table "ai_tools" add constraint "ai_tools_kind_check" check ("kind" in ('tool', 'prompt', 'resource', 'template'));`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "ai_tools" drop constraint "ai_tools_kind_check";`);
    this.addSql(`alter table "ai_tools" drop column "kind";`);
    this.addSql(`alter table "ai_tools" alter column "mcp_name" type varchar(200) using ("mcp_name"::varchar(200));`);

    this.addSql(`alter table "freed_tool_names" drop constraint "freed_tool_names_kind_check";`);
    this.addSql(`alter table "freed_tool_names" drop column "kind";`);
    this.addSql(`alter table "freed_tool_names" alter column "mcp_name" type varchar(200) using ("mcp_name"::varchar(200));`);

    this.addSql(`alter table "mcp_servers" drop column "offers";`);
  }

}
