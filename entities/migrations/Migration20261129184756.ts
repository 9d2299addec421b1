import { Migration } from '@mikro-orm/migrations';

export class Migration20261129184756 extends Migration {

  override name = 'Migration20261129184756';

  override up(): void | Promise<void> {
    this.addSql(`alter table "tool_uses" drop constraint "tool_uses_outcome_check";`);
    this.addSql(`alter table "tool_uses" add "server_id" int null;`);
    this.addSql(`alter table "tool_uses" add constraint "tool_uses_outcome_check" check ("outcome" in ('completed', 'failed', 'broken', 'aborted', 'refused', 'asked', 'limited', 'invalid', 'unmade'));`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "tool_uses" drop constraint "tool_uses_outcome_check";`);
    this.addSql(`alter table "tool_uses" drop column "server_id";`);
    this.addSql(`alter table "tool_uses" add constraint "tool_uses_outcome_check" check ("outcome" in ('completed', 'failed', 'broken', 'refused', 'limited', 'invalid', 'aborted'));`);
  }

}
