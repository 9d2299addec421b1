import { Migration } from '@mikro-orm/migrations';

export class Migration20261122094855 extends Migration {

  override name = 'Migration20261122094855';

  override up(): void | Promise<void> {
    this.addSql(`create table "attachment_texts" ("attachment_id" int not null, "sealed" bytea not null, primary key ("attachment_id"));`);

    this.addSql(`alter table "attachments" add "text_state" text not null default 'none', add "text_failure" text null, add "text_truncated" boolean not null default false;`);
    this.addSql(`alter table "attachments" add constraint "attachments_text_state_check" check ("text_state" in ('pending', 'ready', 'failed', 'none'));`);
    this.addSql(`alter table "attachments" add constraint "attachments_text_failure_check" check ("text_failure" in ('encrypted', 'damaged', 'too-large', 'too-much-memory', 'too-slow', 'not-read'));`);

    this.addSql(`alter table "attachment_texts" add constraint "attachment_texts_attachment_id_foreign" foreign key ("attachment_id") references "attachments" ("id") on update cascade on delete cascade;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "attachment_texts" cascade;`);

    this.addSql(`alter table "attachments" drop constraint "attachments_text_state_check";`);
    this.addSql(`alter table "attachments" drop constraint "attachments_text_failure_check";`);
    this.addSql(`alter table "attachments" drop column "text_state", drop column "text_failure", drop column "text_truncated";`);
  }

}
