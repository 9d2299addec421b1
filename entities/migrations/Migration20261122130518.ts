import { Migration } from '@mikro-orm/migrations';

export class Migration20261122130518 extends Migration {

  override name = 'Migration20261122130518';

  override up(): void | Promise<void> {
    this.addSql(`create table "deprecated_calls" ("id" bigserial primary key, "route" varchar(200) not null, "user_id" int not null, "token_id" int null, "calls" bigint not null, "last_called_at" timestamptz(3) not null);`);
    this.addSql(`create index "deprecated_calls_token_id_index" on "deprecated_calls" ("token_id");`);
    this.addSql(`create unique index "deprecated_calls_caller_unique" on "deprecated_calls" ("user_id", "route", "token_id") nulls not distinct;`);

    this.addSql(`alter table "deprecated_calls" add constraint "deprecated_calls_user_id_foreign" foreign key ("user_id") references "users" ("id") on delete cascade;`);
    this.addSql(`alter table "deprecated_calls" add constraint "deprecated_calls_token_id_foreign" foreign key ("token_id") references "access_tokens" ("id") on delete cascade;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "deprecated_calls" cascade;`);
  }

}
