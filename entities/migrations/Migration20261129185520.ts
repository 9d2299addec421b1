import { Migration } from '@mikro-orm/migrations';

export class Migration20261129185520 extends Migration {

  override name = 'Migration20261129185520';

  override up(): void | Promise<void> {
    this.addSql(`create table "assistants" ("id" serial primary key, "created_at" timestamptz(3) not null default now(), "updated_at" timestamptz(3) not null default now(), "handle" varchar(64) not null, "owner_id" int null, "audience" text not null default 'private', "groups" text[] not null default '{}', "published" int null, "latest" int not null default 1);`);
    this.addSql(`alter table "assistants" add constraint "assistants_handle_unique" unique ("handle");`);
    this.addSql(`create index "assistants_owner_id_index" on "assistants" ("owner_id");`);

    this.addSql(`create table "assistant_versions" ("id" serial primary key, "created_at" timestamptz(3) not null default now(), "assistant_id" int not null, "number" int not null, "author_id" int null, "published_at" timestamptz(3) null, "name" varchar(120) not null, "description" text not null, "model" varchar(200) not null, "fallback" text[] not null default '{}', "parameters" jsonb not null default '{}', "tools" text[] null, "texts" text not null);`);
    this.addSql(`create index "assistant_versions_author_id_index" on "assistant_versions" ("author_id");`);
    this.addSql(`alter table "assistant_versions" add constraint "assistant_versions_assistant_number_unique" unique ("assistant_id", "number");`);

    this.addSql(`create table "assistant_editors" ("id" serial primary key, "assistant_id" int not null, "user_id" int not null);`);
    this.addSql(`create index "assistant_editors_user_id_index" on "assistant_editors" ("user_id");`);
    this.addSql(`alter table "assistant_editors" add constraint "assistant_editors_assistant_user_unique" unique ("assistant_id", "user_id");`);

    this.addSql(`alter table "assistants" add constraint "assistants_owner_id_foreign" foreign key ("owner_id") references "users" ("id") on delete cascade;`);
    this.addSql(`alter table "assistants" add constraint "assistants_audience_check" check ("audience" in ('private', 'groups', 'all'));`);

    this.addSql(`alter table "assistant_versions" add constraint "assistant_versions_assistant_id_foreign" foreign key ("assistant_id") references "assistants" ("id") on delete cascade;`);
    this.addSql(`alter table "assistant_versions" add constraint "assistant_versions_author_id_foreign" foreign key ("author_id") references "users" ("id") on delete set null;`);

    this.addSql(`alter table "assistant_editors" add constraint "assistant_editors_assistant_id_foreign" foreign key ("assistant_id") references "assistants" ("id") on delete cascade;`);
    this.addSql(`alter table "assistant_editors" add constraint "assistant_editors_user_id_foreign" foreign key ("user_id") references "users" ("id") on delete cascade;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "assistant_versions" drop constraint "assistant_versions_assistant_id_foreign";`);
    this.addSql(`alter table "assistant_editors" drop constraint "assistant_editors_assistant_id_foreign";`);

    this.addSql(`drop table if exists "assistants" cascade;`);
    this.addSql(`drop table if exists "assistant_versions" cascade;`);
    this.addSql(`drop table if exists "assistant_editors" cascade;`);
  }

}
