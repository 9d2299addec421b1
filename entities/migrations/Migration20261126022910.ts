import { Migration } from '@mikro-orm/migrations';

export class Migration20261126022910 extends Migration {

  override name = 'Migration20261126022910';

  override up(): void | Promise<void> {
    // A limit, subject and period had several counters (stripes): the first one takes what the others counted, and calls under way refer to it.
    this.addSql(`lock table "usage_holds", "usage_counters" in exclusive mode;`);
    this.addSql(`update "usage_holds" h set "counters" = (
      select array_agg(coalesce(f."id", a."id") order by a."n")
        from unnest(h."counters") with ordinality as a("id", "n")
        left join "usage_counters" c on c."id" = a."id"
        left join "usage_counters" f on f."limit_id" = c."limit_id" and f."subject_id" = c."subject_id" and f."starts_at" = c."starts_at" and f."stripe" = 0
      ) where h."counters" <> '{}';`);
    this.addSql(`update "usage_counters" c set "used" = s."used", "held" = s."held", "topped_up" = s."topped_up", "refused" = s."refused"
      from (select "limit_id", "subject_id", "starts_at", sum("used") as "used", sum("held") as "held", sum("topped_up") as "topped_up", sum("refused") as "refused"
              from "usage_counters" group by 1, 2, 3 having count(*) > 1) s
      where c."limit_id" = s."limit_id" and c."subject_id" = s."subject_id" and c."starts_at" = s."starts_at" and c."stripe" = 0;`);
    this.addSql(`drop table if exists "usage_notices" cascade;`);
    this.addSql(`delete from "usage_counters" where "stripe" > 0;`);
    // Replicas of the previous release share the cap out anew, to one stripe, and read the limits again.
    this.addSql(`update "usage_counters" set "cap" = -1;`);
    this.addSql(`update "usage_limits" set "stripes" = 1;`);
    this.addSql(`update "usage_limit_versions" set "version" = "version" + 1;`);

    this.addSql(`alter table "usage_counters" alter column "stripe" set default 0;`);
    this.addSql(`alter table "usage_counters" alter column "share" set default '0';`);
    this.addSql(`alter table "usage_counters" alter column "cap" set default '-1';`);
    this.addSql(`alter table "usage_counters" add constraint "usage_counters_stripe_check" check (stripe = 0);`);
  }

  override down(): void | Promise<void> {
    this.addSql(`create table "usage_notices" ("counter_id" int8 not null, "percent" int2 not null, "created_at" timestamptz(3) not null default now(), primary key ("counter_id", "percent"));`);

    this.addSql(`alter table "usage_counters" drop constraint "usage_counters_stripe_check";`);
    this.addSql(`alter table "usage_counters" alter column "stripe" drop default;`);
    this.addSql(`alter table "usage_counters" alter column "share" drop default;`);
    this.addSql(`alter table "usage_counters" alter column "cap" drop default;`);

    this.addSql(`alter table "usage_notices" add constraint "usage_notices_counter_id_foreign" foreign key ("counter_id") references "usage_counters" ("id") on update no action on delete cascade;`);
  }

}
