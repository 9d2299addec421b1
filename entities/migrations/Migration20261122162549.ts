import { Migration } from '@mikro-orm/migrations';

export class Migration20261122162549 extends Migration {

  override name = 'Migration20261122162549';

  override up(): void | Promise<void> {
    this.addSql(`alter table "usage_holds" drop constraint "usage_holds_context_check";`);
    this.addSql(`alter table "usage_holds" add constraint "usage_holds_context_check" check ("context" in ('api', 'private', 'group', 'external'));`);

    this.addSql(`alter table "usage_rollups" drop constraint "usage_rollups_context_check";`);
    this.addSql(`alter table "usage_rollups" add constraint "usage_rollups_context_check" check ("context" in ('api', 'private', 'group', 'external'));`);

    this.addSql(`alter table "usage_records" drop constraint "usage_records_context_check";`);
    this.addSql(`alter table "usage_records" add constraint "usage_records_context_check" check ("context" in ('api', 'private', 'group', 'external'));`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "usage_holds" drop constraint "usage_holds_context_check";`);
    this.addSql(`alter table "usage_holds" add constraint "usage_holds_context_check" check ("context" in ('api', 'private', 'group'));`);

    this.addSql(`alter table "usage_records" drop constraint "usage_records_context_check";`);
    this.addSql(`alter table "usage_records" add constraint "usage_records_context_check" check ("context" in ('api', 'private', 'group'));`);

    this.addSql(`alter table "usage_rollups" drop constraint "usage_rollups_context_check";`);
    this.addSql(`alter table "usage_rollups" add constraint "usage_rollups_context_check" check ("context" in ('api', 'private', 'group'));`);
  }

}
