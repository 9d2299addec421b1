import { Migration } from '@mikro-orm/migrations';

export class Migration20261129114540 extends Migration {

  override name = 'Migration20261129114540';

  override up(): void | Promise<void> {
    this.addSql(`alter table "conversations" add "is_archived" boolean not null default false;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "conversations" drop column "is_archived";`);
  }

}
