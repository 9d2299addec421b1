import { Migration } from '@mikro-orm/migrations';

export class Migration20261122193643 extends Migration {

  override name = 'Migration20261122193643';

  override up(): void | Promise<void> {
    this.addSql(`create table "provider_outages" ("provider_id" int not null, "until" timestamptz(3) not null, primary key ("provider_id"));`);

    this.addSql(`alter table "provider_outages" add constraint "provider_outages_provider_id_foreign" foreign key ("provider_id") references "ai_providers" ("id") on update cascade on delete cascade;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "provider_outages" cascade;`);
  }

}
