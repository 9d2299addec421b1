import { Migration } from '@mikro-orm/migrations';

export class Migration20261122062118 extends Migration {

  override name = 'Migration20261122062118';

  override up(): void | Promise<void> {
    this.addSql(`create table "model_prices" ("id" serial primary key, "created_at" timestamptz(3) not null default now(), "model" varchar(200) not null, "pricing" jsonb null, "as_of" date not null default current_date);`);
    this.addSql(`create index "model_prices_model_id_index" on "model_prices" ("model", "id");`);

    // The prices in force are the first versions.
    this.addSql(`insert into "model_prices" ("model", "pricing") select "model_id", "pricing" from "ai_models" where "pricing" is not null;`);

    this.addSql(`create or replace function "ai_models_keep_price_fn"() returns trigger as \$\$ begin if (tg_op = 'INSERT' and new.pricing is not null) or (tg_op = 'UPDATE' and (old.pricing, old.model_id) is distinct from (new.pricing, new.model_id)) then insert into model_prices (model, pricing) values (new.model_id, new.pricing); end if; return null; end; \$\$ language plpgsql;`);
    this.addSql(`create trigger "keep_price" AFTER INSERT OR UPDATE on "ai_models" for each ROW execute function "ai_models_keep_price_fn"();`);

    this.addSql(`alter table "usage_records" add "price_id" int null;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "model_prices" cascade;`);

    this.addSql(`drop trigger if exists "keep_price" on "ai_models";`);
    this.addSql(`drop function if exists "ai_models_keep_price_fn"();`);

    this.addSql(`alter table "usage_records" drop column "price_id";`);
  }

}
