import { Migration } from '@mikro-orm/migrations';

export class Migration20261129192048 extends Migration {

  override name = 'Migration20261129192048';

  override up(): void | Promise<void> {
    this.addSql(`alter table "usage_holds" add "assistant" varchar(80) null;`);

    this.addSql(`alter table "usage_rollups" add "assistant" varchar(80) null;`);

    this.addSql(`alter table "usage_bills" drop constraint "usage_bills_grouping_check";`);
    this.addSql(`alter table "usage_bills" add constraint "usage_bills_grouping_check" check ("grouping" in ('user', 'group', 'app', 'assistant', 'model', 'provider'));`);

    this.addSql(`alter table "usage_records" add "assistant" varchar(80) null;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "usage_bills" drop constraint "usage_bills_grouping_check";`);
    this.addSql(`alter table "usage_bills" add constraint "usage_bills_grouping_check" check ("grouping" in ('user', 'group', 'app', 'model', 'provider'));`);

    this.addSql(`alter table "usage_holds" drop column "assistant";`);

    this.addSql(`alter table "usage_records" drop column "assistant";`);

    this.addSql(`alter table "usage_rollups" drop column "assistant";`);
  }

}
