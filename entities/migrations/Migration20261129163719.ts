import { Migration } from '@mikro-orm/migrations';

export class Migration20261129163719 extends Migration {

  override name = 'Migration20261129163719';

  override up(): void | Promise<void> {
    this.addSql(`alter table "usage_limits" drop constraint "usage_limits_subject_check";`);
    this.addSql(`alter table "usage_limits" drop constraint "usage_limits_unit_check";`);
    this.addSql(`alter table "usage_limits" add constraint "usage_limits_subject_check" check ("subject" in ('installation', 'provider', 'model', 'role', 'group', 'room', 'app', 'user', 'token', 'tool-server', 'tool'));`);
    this.addSql(`alter table "usage_limits" add constraint "usage_limits_unit_check" check ("unit" in ('requests', 'tokens', 'money', 'calls'));`);

    this.addSql(`alter table "tool_uses" drop constraint "tool_uses_outcome_check";`);
    this.addSql(`alter table "tool_uses" add constraint "tool_uses_outcome_check" check ("outcome" in ('completed', 'failed', 'broken', 'refused', 'limited', 'invalid', 'aborted'));`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "tool_uses" drop constraint "tool_uses_outcome_check";`);
    this.addSql(`alter table "tool_uses" add constraint "tool_uses_outcome_check" check ("outcome" in ('completed', 'failed', 'broken', 'refused', 'invalid', 'aborted'));`);

    this.addSql(`alter table "usage_limits" drop constraint "usage_limits_subject_check";`);
    this.addSql(`alter table "usage_limits" drop constraint "usage_limits_unit_check";`);
    this.addSql(`alter table "usage_limits" add constraint "usage_limits_subject_check" check ("subject" in ('installation', 'provider', 'model', 'role', 'group', 'room', 'app', 'user', 'token'));`);
    this.addSql(`alter table "usage_limits" add constraint "usage_limits_unit_check" check ("unit" in ('requests', 'tokens', 'money'));`);
  }

}
