import { Migration } from '@mikro-orm/migrations';

export class Migration20261122225508 extends Migration {

  override name = 'Migration20261122225508';

  override up(): void | Promise<void> {
    this.addSql(`alter table "usage_holds" add "web_searches" int not null default 0, add "web_fetches" int not null default 0;`);

    this.addSql(`alter table "usage_rollups" add "web_searches" bigint not null default '0', add "web_fetches" bigint not null default '0';`);

    this.addSql(`alter table "usage_records" add "web_searches" int not null default 0, add "web_fetches" int not null default 0;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "usage_holds" drop column "web_searches", drop column "web_fetches";`);

    this.addSql(`alter table "usage_records" drop column "web_searches", drop column "web_fetches";`);

    this.addSql(`alter table "usage_rollups" drop column "web_searches", drop column "web_fetches";`);
  }

}
