import { Migration } from '@mikro-orm/migrations';

export class Migration20261122060125 extends Migration {

  override name = 'Migration20261122060125';

  override up(): void | Promise<void> {
    this.addSql(`create table "change_epochs" ("epoch" uuid not null default gen_random_uuid(), "at" timestamptz(3) not null default clock_timestamp(), primary key ("epoch"));`);

    this.addSql(`create table "change_log" ("stream" varchar(40) not null, "seq" bigint not null, "at" timestamptz(3) not null default clock_timestamp(), "kind" varchar(60) not null, "subject" varchar(40) not null, primary key ("stream", "seq", "at")) partition by range ("at");`);
    this.addSql(`create table "change_log_default" partition of "change_log" default;`);

    this.addSql(`create table "change_streams" ("stream" varchar(40) not null, "seq" bigint not null, primary key ("stream"));`);
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "change_epochs" cascade;`);
    this.addSql(`drop table if exists "change_log" cascade;`);
    this.addSql(`drop table if exists "change_streams" cascade;`);
  }

}
