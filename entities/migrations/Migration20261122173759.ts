import { Migration } from '@mikro-orm/migrations';

export class Migration20261122173759 extends Migration {

  override name = 'Migration20261122173759';

  override up(): void | Promise<void> {
    this.addSql(`alter table "ext_apps" add "left_file" boolean not null default false;`);
    this.addSql(`alter table "ext_apps" add constraint "ext_apps_left_file_check" check (not (left_file and (active or from_file)));`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "ext_apps" drop constraint "ext_apps_left_file_check";`);
    this.addSql(`alter table "ext_apps" drop column "left_file";`);
  }

}
