import { Migration } from '@mikro-orm/migrations';

export class Migration20261129193518 extends Migration {

  override name = 'Migration20261129193518';

  override up(): void | Promise<void> {
    this.addSql(`alter table "mcp_servers" add "price_per_call" varchar(20) null;`);

    this.addSql(`alter table "usage_records" add "kind" text not null default 'model';`);
    this.addSql(`alter table "usage_records" add constraint "usage_records_kind_check" check ("kind" in ('model', 'tool'));`);

    this.addSql(`alter table "tool_uses" add "cost_micros" bigint null, add "currency" char(3) null;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "mcp_servers" drop column "price_per_call";`);

    this.addSql(`alter table "tool_uses" drop column "cost_micros", drop column "currency";`);

    this.addSql(`alter table "usage_records" drop constraint "usage_records_kind_check";`);
    this.addSql(`alter table "usage_records" drop column "kind";`);
  }

}
