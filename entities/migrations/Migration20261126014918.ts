import { Migration } from '@mikro-orm/migrations';

export class Migration20261126014918 extends Migration {

  override name = 'Migration20261126014918';

  override up(): void | Promise<void> {
    this.addSql(`alter table "conversations" add "is_pinned" boolean not null default false, add "folder" varchar(120) null, add "discarded_at" timestamptz(3) null;`);
    this.addSql(`create index "conversations_discarded_at_index" on "conversations" ("discarded_at");`);

    this.addSql(`alter table "conversation_messages" add "parent_seq" int null;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "conversation_messages" drop column "parent_seq";`);

    this.addSql(`drop index "conversations_discarded_at_index";`);
    this.addSql(`alter table "conversations" drop column "is_pinned", drop column "folder", drop column "discarded_at";`);
  }

}
