import { Migration } from '@mikro-orm/migrations';

export class Migration20261128201704 extends Migration {

  override name = 'Migration20261128201704';

  override up(): void | Promise<void> {
    this.addSql(`alter table "rooms" add "min_key_epoch" int not null default 0;`);
    // Rooms that somebody left under their current key, and that have no new one yet.
    this.addSql(`update "rooms" r set "min_key_epoch" = r."key_epoch" + 1 where r."rekey_required_since" is not null and exists (
      select from "room_members" m where m."room_id" = r."id" and m."state" = 'removed' and m."updated_at" >= r."key_epoch_since");`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "rooms" drop column "min_key_epoch";`);
  }

}
