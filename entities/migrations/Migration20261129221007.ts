import { Migration } from '@mikro-orm/migrations';

export class Migration20261129221007 extends Migration {

  override name = 'Migration20261129221007';

  override up(): void | Promise<void> {
    this.addSql(`alter table "assistant_versions" add "knowledge_id" int null, add "knowledge_hash" varchar(64) null;`);
    this.addSql(`alter table "assistant_versions" add constraint "assistant_versions_knowledge_id_foreign" foreign key ("knowledge_id") references "knowledge" ("id") on delete set null;`);
    this.addSql(`create index "assistant_versions_knowledge_id_index" on "assistant_versions" ("knowledge_id");`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "assistant_versions" drop constraint "assistant_versions_knowledge_id_foreign";`);

    this.addSql(`drop index "assistant_versions_knowledge_id_index";`);
    this.addSql(`alter table "assistant_versions" drop column "knowledge_id", drop column "knowledge_hash";`);
  }

}
