import { Migration } from '@mikro-orm/migrations';

export class Migration20261128205011 extends Migration {

  override name = 'Migration20261128205011';

  override up(): void | Promise<void> {
    this.addSql(`alter table "room_members" add "key_proof" varchar(44) null, add "key_proof_epoch" int null, add "keys_changed_at" timestamptz(3) null;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "room_members" drop column "key_proof", drop column "key_proof_epoch", drop column "keys_changed_at";`);
  }

}
