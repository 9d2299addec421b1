import { Migration } from '@mikro-orm/migrations';

export class Migration20261126014747 extends Migration {

  override name = 'Migration20261126014747';

  override up(): void | Promise<void> {
    this.addSql(`alter table "attachments" drop constraint "attachments_text_failure_check";`);
    this.addSql(`alter table "attachments" add "text_notes" jsonb not null default '[]';`);
    this.addSql(`alter table "attachments" add constraint "attachments_text_failure_check" check ("text_failure" in ('encrypted', 'damaged', 'too-large', 'too-much-memory', 'too-slow', 'unknown-encoding', 'not-read'));`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "attachments" drop constraint "attachments_text_failure_check";`);
    this.addSql(`alter table "attachments" drop column "text_notes";`);
    this.addSql(`alter table "attachments" add constraint "attachments_text_failure_check" check ("text_failure" in ('encrypted', 'damaged', 'too-large', 'too-much-memory', 'too-slow', 'not-read'));`);
  }

}
