import { Migration } from '@mikro-orm/migrations';

export class Migration20261122135336 extends Migration {

  override name = 'Migration20261122135336';

  override up(): void | Promise<void> {
    this.addSql(`create table "room_disclosures" ("id" serial primary key, "created_at" timestamptz(3) not null default now(), "room_id" int not null, "user_id" int null, "provider" varchar(120) not null, "model" varchar(200) not null, "parts" jsonb not null, "state" text not null, "error" varchar(64) null, "ended_at" timestamptz(3) null, "lease_until" timestamptz(3) null, "answer_id" int null);`);
    this.addSql(`create index "room_disclosures_user_id_index" on "room_disclosures" ("user_id");`);
    this.addSql(`create index "room_disclosures_lease_until_index" on "room_disclosures" ("lease_until");`);
    this.addSql(`create index "room_disclosures_answer_id_index" on "room_disclosures" ("answer_id");`);
    this.addSql(`create index "room_disclosures_room_id_id_index" on "room_disclosures" ("room_id", "id");`);

    this.addSql(`alter table "usage_holds" add "room_id" int null;`);

    this.addSql(`alter table "usage_limits" drop constraint "usage_limits_subject_check";`);
    this.addSql(`alter table "usage_limits" add constraint "usage_limits_subject_check" check ("subject" in ('installation', 'provider', 'model', 'role', 'group', 'room', 'user', 'token'));`);

    this.addSql(`alter table "usage_rollups" add "room_id" int null;`);

    this.addSql(`alter table "room_messages" add "model" varchar(200) null, add "metadata" jsonb null;`);

    this.addSql(`alter table "usage_records" add "room_id" int null;`);

    this.addSql(`alter table "room_disclosures" add constraint "room_disclosures_room_id_foreign" foreign key ("room_id") references "rooms" ("id") on delete cascade;`);
    this.addSql(`alter table "room_disclosures" add constraint "room_disclosures_user_id_foreign" foreign key ("user_id") references "users" ("id") on delete set null;`);
    this.addSql(`alter table "room_disclosures" add constraint "room_disclosures_answer_id_foreign" foreign key ("answer_id") references "room_messages" ("id") on delete set null;`);
    this.addSql(`alter table "room_disclosures" add constraint "room_disclosures_state_check" check ("state" in ('answering', 'completed', 'failed', 'cancelled', 'lost'));`);
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "room_disclosures" cascade;`);

    this.addSql(`alter table "room_messages" drop column "model", drop column "metadata";`);

    this.addSql(`alter table "usage_holds" drop column "room_id";`);

    this.addSql(`alter table "usage_limits" drop constraint "usage_limits_subject_check";`);
    this.addSql(`alter table "usage_limits" add constraint "usage_limits_subject_check" check ("subject" in ('installation', 'provider', 'model', 'role', 'group', 'user', 'token'));`);

    this.addSql(`alter table "usage_records" drop column "room_id";`);

    this.addSql(`alter table "usage_rollups" drop column "room_id";`);
  }

}
