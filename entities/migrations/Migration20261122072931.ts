import { Migration } from '@mikro-orm/migrations';

export class Migration20261122072931 extends Migration {

  override name = 'Migration20261122072931';

  override up(): void | Promise<void> {
    this.addSql(`alter table "usage_limits" drop constraint "usage_limits_subject_check";`);
    this.addSql(`alter table "usage_limits" add constraint "usage_limits_subject_check" check ("subject" in ('installation', 'provider', 'model', 'role', 'group', 'user', 'token'));`);

    this.addSql(`alter table "users" add "groups" text[] not null default '{}';`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "usage_limits" drop constraint "usage_limits_subject_check";`);
    this.addSql(`alter table "usage_limits" add constraint "usage_limits_subject_check" check ("subject" in ('installation', 'provider', 'model', 'role', 'user', 'token'));`);

    this.addSql(`alter table "users" drop column "groups";`);
  }

}
