import { Migration } from '@mikro-orm/migrations';

export class Migration20261123150925 extends Migration {

  override name = 'Migration20261123150925';

  override up(): void | Promise<void> {
    this.addSql(`alter table "usage_records" add constraint "usage_records_context_check" check ("context" in ('api', 'private', 'group', 'external'));`);
    this.addSql(`alter table "usage_records" add constraint "usage_records_outcome_check" check ("outcome" in ('completed', 'cut', 'refused', 'failed', 'aborted', 'lost'));`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "usage_records" drop constraint "usage_records_context_check";`);
    this.addSql(`alter table "usage_records" drop constraint "usage_records_outcome_check";`);
  }

}
