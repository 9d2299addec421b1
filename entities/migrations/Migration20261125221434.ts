import { Migration } from '@mikro-orm/migrations';

export class Migration20261125221434 extends Migration {

  override name = 'Migration20261125221434';

  override up(): void | Promise<void> {
    this.addSql(`alter table "users" add "subject" varchar(600) null, add "disabled" boolean not null default false, add "signed_in_at" timestamptz(3) null;`);
    this.addSql(`alter table "users" add constraint "users_subject_unique" unique ("subject");`);

    this.addSql(`alter table "passkey_backups" add "derived_with" varchar(120) null;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "passkey_backups" drop column "derived_with";`);

    this.addSql(`alter table "users" drop constraint "users_subject_unique";`);
    this.addSql(`alter table "users" drop column "subject", drop column "disabled", drop column "signed_in_at";`);
  }

}
