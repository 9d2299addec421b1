import { Migration } from '@mikro-orm/migrations';

export class Migration20261129165926 extends Migration {

  override name = 'Migration20261129165926';

  override up(): void | Promise<void> {
    this.addSql(`alter table "oauth_clients" add "redirects_changed_at" timestamptz(3) null;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "oauth_clients" drop column "redirects_changed_at";`);
  }

}
