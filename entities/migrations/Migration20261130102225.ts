import { Migration } from '@mikro-orm/migrations';

export class Migration20261130102225 extends Migration {

  override name = 'Migration20261130102225';

  override up(): void | Promise<void> {
    this.addSql(`alter table "shared_links" add "ended_by" text null;`);
    this.addSql(`alter table "shared_links" add constraint "shared_links_ended_by_check" check ("ended_by" in ('time', 'administrator'));`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "shared_links" drop constraint "shared_links_ended_by_check";`);
    this.addSql(`alter table "shared_links" drop column "ended_by";`);
  }

}
