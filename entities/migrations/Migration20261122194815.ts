import { Migration } from '@mikro-orm/migrations';

export class Migration20261122194815 extends Migration {

  override name = 'Migration20261122194815';

  override up(): void | Promise<void> {
    this.addSql(`alter table "usage_rollups" drop constraint "usage_rollups_outcome_check";`);
    this.addSql(`alter table "usage_rollups" add constraint "usage_rollups_outcome_check" check ("outcome" in ('completed', 'cut', 'refused', 'failed', 'aborted', 'lost'));`);

    this.addSql(`alter table "usage_records" drop constraint "usage_records_outcome_check";`);
    this.addSql(`alter table "usage_records" add constraint "usage_records_outcome_check" check ("outcome" in ('completed', 'cut', 'refused', 'failed', 'aborted', 'lost'));`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "usage_records" drop constraint "usage_records_outcome_check";`);
    this.addSql(`alter table "usage_records" add constraint "usage_records_outcome_check" check ("outcome" in ('completed', 'cut', 'failed', 'aborted', 'lost'));`);

    this.addSql(`alter table "usage_rollups" drop constraint "usage_rollups_outcome_check";`);
    this.addSql(`alter table "usage_rollups" add constraint "usage_rollups_outcome_check" check ("outcome" in ('completed', 'cut', 'failed', 'aborted', 'lost'));`);
  }

}
