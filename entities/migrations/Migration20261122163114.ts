import { Migration } from '@mikro-orm/migrations';

export class Migration20261122163114 extends Migration {

  override name = 'Migration20261122163114';

  override up(): void | Promise<void> {
    this.addSql(`create index "rooms_avatar_index" on "rooms" (avatar collate "C") where avatar is not null;`);

    this.addSql(`create index "users_avatar_index" on "users" (avatar collate "C") where avatar is not null;`);

    this.addSql(`create index "attachments_pending_index" on "attachments" ("id") where text_state = 'pending';`);
    this.addSql(`create index "attachments_created_at_index" on "attachments" ("created_at");`);
  }

  override down(): void | Promise<void> {
    this.addSql(`drop index "attachments_pending_index";`);
    this.addSql(`drop index "attachments_created_at_index";`);

    this.addSql(`drop index "rooms_avatar_index";`);

    this.addSql(`drop index "users_avatar_index";`);
  }

}
