import { Migration } from '@mikro-orm/migrations';

export class Migration20261122203941 extends Migration {

  override name = 'Migration20261122203941';

  override up(): void | Promise<void> {
    this.addSql(`alter table "room_read_marks" add "starts_after" int not null default 0;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "room_read_marks" drop column "starts_after";`);
  }

}
