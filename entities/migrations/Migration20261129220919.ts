import { Migration } from '@mikro-orm/migrations';

export class Migration20261129220919 extends Migration {

  override name = 'Migration20261129220919';

  override up(): void | Promise<void> {
    this.addSql(`create table "knowledge_indexes" ("id" serial primary key, "created_at" timestamptz(3) not null default now(), "model" varchar(200) not null, "dimensions" int null, "length" int null, "state" text not null default 'building', "retired_at" timestamptz(3) null, "estimated_tokens" bigint not null default '0', "billed_tokens" bigint not null default '0');`);
    this.addSql(`create unique index "knowledge_indexes_state_unique" on "knowledge_indexes" ("state") where state <> 'retired';`);

    this.addSql(`create table "knowledge_embeddings" ("id" serial primary key, "file_id" int not null, "index_id" int not null, "state" text not null default 'pending', "embedded" int not null default 0, "by_house" boolean not null default false, "attempts" int not null default 0, "delay" text null, "delayed_since" timestamptz(3) null);`);
    this.addSql(`create index "knowledge_embeddings_index_id_index" on "knowledge_embeddings" ("index_id");`);
    this.addSql(`create index "knowledge_embeddings_pending_index" on "knowledge_embeddings" ("id") where state = 'pending';`);
    this.addSql(`alter table "knowledge_embeddings" add constraint "knowledge_embeddings_file_index_unique" unique ("file_id", "index_id");`);

    this.addSql(`create table "knowledge_vectors" ("embedding_id" int not null, "ordinal" int not null, "sealed" bytea not null, primary key ("embedding_id", "ordinal"));`);

    this.addSql(`alter table "knowledge_files" add "tokens" int null;`);

    this.addSql(`alter table "knowledge_indexes" add constraint "knowledge_indexes_state_check" check ("state" in ('building', 'active', 'retired'));`);

    this.addSql(`alter table "knowledge_embeddings" add constraint "knowledge_embeddings_file_id_foreign" foreign key ("file_id") references "knowledge_files" ("id") on delete cascade;`);
    this.addSql(`alter table "knowledge_embeddings" add constraint "knowledge_embeddings_index_id_foreign" foreign key ("index_id") references "knowledge_indexes" ("id") on delete cascade;`);
    this.addSql(`alter table "knowledge_embeddings" add constraint "knowledge_embeddings_state_check" check ("state" in ('pending', 'whole', 'refused'));`);
    this.addSql(`alter table "knowledge_embeddings" add constraint "knowledge_embeddings_delay_check" check ("delay" in ('provider', 'limit', 'model'));`);

    this.addSql(`alter table "knowledge_vectors" add constraint "knowledge_vectors_embedding_id_foreign" foreign key ("embedding_id") references "knowledge_embeddings" ("id") on delete cascade;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "knowledge_embeddings" drop constraint "knowledge_embeddings_index_id_foreign";`);
    this.addSql(`alter table "knowledge_vectors" drop constraint "knowledge_vectors_embedding_id_foreign";`);

    this.addSql(`drop table if exists "knowledge_indexes" cascade;`);
    this.addSql(`drop table if exists "knowledge_embeddings" cascade;`);
    this.addSql(`drop table if exists "knowledge_vectors" cascade;`);

    this.addSql(`alter table "knowledge_files" drop column "tokens";`);
  }

}
