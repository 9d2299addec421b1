import { Migration } from '@mikro-orm/migrations';

export class Migration20261129193646 extends Migration {

  override name = 'Migration20261129193646';

  override up(): void | Promise<void> {
    this.addSql(`create table "freed_tool_names" ("name" varchar(120) not null, "url" varchar(2048) not null, "mcp_name" varchar(200) not null, "freed_at" timestamptz(3) not null, primary key ("name"));`);
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "freed_tool_names" cascade;`);
  }

}
