import { Migration } from '@mikro-orm/migrations';

export class Migration20261122204904 extends Migration {

  override name = 'Migration20261122204904';

  override up(): void | Promise<void> {
    this.addSql(`alter table "provider_outages" add "streak" int not null default 1, add "is_over" boolean not null default false;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "provider_outages" drop column "streak", drop column "is_over";`);
  }

}
