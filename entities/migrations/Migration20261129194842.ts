import { Migration } from '@mikro-orm/migrations';

export class Migration20261129194842 extends Migration {

  override name = 'Migration20261129194842';

  override up(): void | Promise<void> {
    this.addSql(`create table "knowledge" ("id" serial primary key, "created_at" timestamptz(3) not null default now(), "updated_at" timestamptz(3) not null default now(), "owner_id" int not null, "name" varchar(120) not null, "version" int not null default 0);`);
    this.addSql(`alter table "knowledge" add constraint "knowledge_owner_name_unique" unique ("owner_id", "name");`);

    this.addSql(`create table "knowledge_files" ("id" serial primary key, "created_at" timestamptz(3) not null default now(), "knowledge_id" int not null, "path" varchar(512) not null, "uuid" uuid not null, "mime" varchar(127) not null, "bytes" int not null, "fingerprint" varchar(64) not null, "sealed_key" varchar(255) not null, "state" text not null default 'waiting', "failure" text null, "language" varchar(40) null, "pages" int null, "passages" int not null default 0, "truncated" boolean not null default false, "notes" jsonb not null default '[]');`);
    this.addSql(`alter table "knowledge_files" add constraint "knowledge_files_uuid_unique" unique ("uuid");`);
    this.addSql(`create index "knowledge_files_knowledge_id_path_index" on "knowledge_files" ("knowledge_id", "path");`);
    this.addSql(`create unique index "knowledge_files_ready_unique" on "knowledge_files" ("knowledge_id", "path") where state = 'ready';`);
    this.addSql(`create index "knowledge_files_unread_index" on "knowledge_files" ("id") where state in ('waiting', 'reading');`);

    this.addSql(`create table "knowledge_terms" ("file_id" int not null, "sealed" bytea not null, primary key ("file_id"));`);

    this.addSql(`create table "knowledge_passages" ("file_id" int not null, "ordinal" int not null, "from_offset" int not null, "to_offset" int not null, "page" int null, "sealed" bytea not null, primary key ("file_id", "ordinal"));`);

    this.addSql(`alter table "knowledge" add constraint "knowledge_owner_id_foreign" foreign key ("owner_id") references "users" ("id") on delete cascade;`);

    this.addSql(`alter table "knowledge_files" add constraint "knowledge_files_knowledge_id_foreign" foreign key ("knowledge_id") references "knowledge" ("id") on delete cascade;`);
    this.addSql(`alter table "knowledge_files" add constraint "knowledge_files_state_check" check ("state" in ('waiting', 'reading', 'ready', 'failed'));`);
    this.addSql(`alter table "knowledge_files" add constraint "knowledge_files_failure_check" check ("failure" in ('encrypted', 'damaged', 'too-large', 'too-much-memory', 'too-slow', 'unknown-encoding', 'not-read', 'no-text', 'full'));`);

    this.addSql(`alter table "knowledge_terms" add constraint "knowledge_terms_file_id_foreign" foreign key ("file_id") references "knowledge_files" ("id") on update cascade on delete cascade;`);

    this.addSql(`alter table "knowledge_passages" add constraint "knowledge_passages_file_id_foreign" foreign key ("file_id") references "knowledge_files" ("id") on delete cascade;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "knowledge_files" drop constraint "knowledge_files_knowledge_id_foreign";`);
    this.addSql(`alter table "knowledge_terms" drop constraint "knowledge_terms_file_id_foreign";`);
    this.addSql(`alter table "knowledge_passages" drop constraint "knowledge_passages_file_id_foreign";`);

    this.addSql(`drop table if exists "knowledge" cascade;`);
    this.addSql(`drop table if exists "knowledge_files" cascade;`);
    this.addSql(`drop table if exists "knowledge_terms" cascade;`);
    this.addSql(`drop table if exists "knowledge_passages" cascade;`);
  }

}
