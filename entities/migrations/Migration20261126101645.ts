import { Migration } from '@mikro-orm/migrations';

export class Migration20261126101645 extends Migration {

  override name = 'Migration20261126101645';

  override up(): void | Promise<void> {
    this.addSql(`alter table "room_members" add "is_muted" boolean not null default false, add "is_archived" boolean not null default false;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "room_members" drop column "is_muted", drop column "is_archived";`);
  }

}
