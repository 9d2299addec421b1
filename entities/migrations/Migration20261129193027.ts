import { Migration } from '@mikro-orm/migrations';

export class Migration20261129193027 extends Migration {

  override name = 'Migration20261129193027';

  override up(): void | Promise<void> {
    this.addSql(`alter table "assistants" add "allow_remix" boolean not null default false;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "assistants" drop column "allow_remix";`);
  }

}
