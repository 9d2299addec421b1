import { Migration } from '@mikro-orm/migrations';

export class Migration20261129152229 extends Migration {

  override name = 'Migration20261129152229';

  override up(): void | Promise<void> {
    this.addSql(`create table "tool_uses" ("id" bigserial primary key, "created_at" timestamptz(3) not null default now(), "user_id" int null, "token_id" int null, "server" varchar(120) null, "tool" varchar(120) not null, "surface" text not null, "outcome" text not null, "duration_ms" int not null, "bytes" int not null default 0);`);
    this.addSql(`create index "tool_uses_created_at_index" on "tool_uses" ("created_at");`);
    this.addSql(`create index "tool_uses_token_id_index" on "tool_uses" ("token_id");`);
    this.addSql(`create index "tool_uses_user_id_created_at_index" on "tool_uses" ("user_id", "created_at");`);

    this.addSql(`alter table "tool_uses" add constraint "tool_uses_user_id_foreign" foreign key ("user_id") references "users" ("id") on delete set null;`);
    this.addSql(`alter table "tool_uses" add constraint "tool_uses_token_id_foreign" foreign key ("token_id") references "access_tokens" ("id") on delete set null;`);
    this.addSql(`alter table "tool_uses" add constraint "tool_uses_surface_check" check ("surface" in ('chat', 'room', 'mcp'));`);
    this.addSql(`alter table "tool_uses" add constraint "tool_uses_outcome_check" check ("outcome" in ('completed', 'failed', 'broken', 'refused', 'invalid', 'aborted'));`);
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "tool_uses" cascade;`);
  }

}
