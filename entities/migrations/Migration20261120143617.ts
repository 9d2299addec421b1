import { Migration } from '@mikro-orm/migrations';

export class Migration20261120143617 extends Migration {

  override name = 'Migration20261120143617';

  override up(): void | Promise<void> {
    this.addSql(`create table "frontend_migrations" ("id" serial primary key, "created_at" timestamptz(3) not null default now(), "updated_at" timestamptz(3) not null default now(), "name" varchar(200) not null);`);
    this.addSql(`alter table "frontend_migrations" add constraint "frontend_migrations_name_unique" unique ("name");`);

    this.addSql(`create table "frontend_migration_userdata" ("user_id" int not null, "migration_id" int not null, "data" text not null, primary key ("user_id", "migration_id"));`);

    this.addSql(`create table "applied_frontend_migrations" ("user_id" int not null, "migration_id" int not null, "applied_at" timestamptz(3) not null default now(), primary key ("user_id", "migration_id"));`);

    this.addSql(`alter table "frontend_migration_userdata" add constraint "frontend_migration_userdata_user_id_foreign" foreign key ("user_id") references "users" ("id") on update cascade on delete cascade;`);
    this.addSql(`alter table "frontend_migration_userdata" add constraint "frontend_migration_userdata_migration_id_foreign" foreign key ("migration_id") references "frontend_migrations" ("id") on update cascade on delete cascade;`);

    this.addSql(`alter table "applied_frontend_migrations" add constraint "applied_frontend_migrations_user_id_foreign" foreign key ("user_id") references "users" ("id") on update cascade on delete cascade;`);
    this.addSql(`alter table "applied_frontend_migrations" add constraint "applied_frontend_migrations_migration_id_foreign" foreign key ("migration_id") references "frontend_migrations" ("id") on update cascade on delete cascade;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "frontend_migration_userdata" drop constraint "frontend_migration_userdata_migration_id_foreign";`);
    this.addSql(`alter table "applied_frontend_migrations" drop constraint "applied_frontend_migrations_migration_id_foreign";`);

    this.addSql(`drop table if exists "frontend_migrations" cascade;`);
    this.addSql(`drop table if exists "frontend_migration_userdata" cascade;`);
    this.addSql(`drop table if exists "applied_frontend_migrations" cascade;`);
  }

}
