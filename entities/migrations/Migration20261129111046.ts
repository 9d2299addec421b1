import { Migration } from '@mikro-orm/migrations';

export class Migration20261129111046 extends Migration {

  override name = 'Migration20261129111046';

  override up(): void | Promise<void> {
    this.addSql(`alter table "ai_models" add "successor" varchar(200) null, add "redirect" boolean not null default false;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "ai_models" drop column "successor", drop column "redirect";`);
  }

}
