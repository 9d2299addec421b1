import { Migration } from '@mikro-orm/migrations';

export class Migration20261129223436 extends Migration {

  override name = 'Migration20261129223436';

  override up(): void | Promise<void> {
    this.addSql(`create table "assistant_favorites" ("id" serial primary key, "user_id" int not null, "assistant_id" int not null);`);
    this.addSql(`create index "assistant_favorites_assistant_id_index" on "assistant_favorites" ("assistant_id");`);
    this.addSql(`alter table "assistant_favorites" add constraint "assistant_favorites_user_assistant_unique" unique ("user_id", "assistant_id");`);

    this.addSql(`alter table "assistants" add "proposed" int null, add "proposed_at" timestamptz(3) null, add "refused" int null, add "refusal" text null;`);

    this.addSql(`alter table "assistant_versions" add "approved_at" timestamptz(3) null, add "avatar" varchar(255) null, add "tags" text[] not null default '{}', add "allow_model_select" boolean not null default false;`);
    this.addSql(`create index "assistant_versions_avatar_index" on "assistant_versions" (avatar collate "C") where avatar is not null;`);

    this.addSql(`alter table "assistant_favorites" add constraint "assistant_favorites_user_id_foreign" foreign key ("user_id") references "users" ("id") on delete cascade;`);
    this.addSql(`alter table "assistant_favorites" add constraint "assistant_favorites_assistant_id_foreign" foreign key ("assistant_id") references "assistants" ("id") on delete cascade;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "assistant_favorites" cascade;`);

    this.addSql(`drop index "assistant_versions_avatar_index";`);
    this.addSql(`alter table "assistant_versions" drop column "approved_at", drop column "avatar", drop column "tags", drop column "allow_model_select";`);

    this.addSql(`alter table "assistants" drop column "proposed", drop column "proposed_at", drop column "refused", drop column "refusal";`);
  }

}
