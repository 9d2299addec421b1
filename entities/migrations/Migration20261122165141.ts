import { Migration } from '@mikro-orm/migrations';

export class Migration20261122165141 extends Migration {

  override name = 'Migration20261122165141';

  override up(): void | Promise<void> {
    this.addSql(`alter table "ext_apps" add "active" boolean not null default true, add "from_file" boolean not null default false;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "ext_apps" drop column "active", drop column "from_file";`);
  }

}
