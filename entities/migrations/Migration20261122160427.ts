import { Migration } from '@mikro-orm/migrations';

export class Migration20261122160427 extends Migration {

  override name = 'Migration20261122160427';

  override up(): void | Promise<void> {
    this.addSql(`alter table "usage_holds" add "app_id" int null;`);

    this.addSql(`alter table "usage_limits" drop constraint "usage_limits_subject_check";`);
    this.addSql(`alter table "usage_limits" add constraint "usage_limits_subject_check" check ("subject" in ('installation', 'provider', 'model', 'role', 'group', 'room', 'app', 'user', 'token'));`);

    this.addSql(`alter table "usage_rollups" add "app_id" int null;`);

    this.addSql(`alter table "usage_records" add "app_id" int null;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "usage_holds" drop column "app_id";`);

    this.addSql(`alter table "usage_limits" drop constraint "usage_limits_subject_check";`);
    this.addSql(`alter table "usage_limits" add constraint "usage_limits_subject_check" check ("subject" in ('installation', 'provider', 'model', 'role', 'group', 'room', 'user', 'token'));`);

    this.addSql(`alter table "usage_records" drop column "app_id";`);

    this.addSql(`alter table "usage_rollups" drop column "app_id";`);
  }

}
