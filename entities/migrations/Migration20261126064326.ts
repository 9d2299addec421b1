import { Migration } from '@mikro-orm/migrations';

export class Migration20261126064326 extends Migration {

  override name = 'Migration20261126064326';

  override up(): void | Promise<void> {
    this.addSql(`create table "audit_entries" ("seq" bigint not null, "at" timestamptz(3) not null, "act" varchar(60) not null, "outcome" varchar(60) not null, "actor" varchar(40) not null, "subject" varchar(200) null, "request_id" varchar(100) null, "origin" text null, "origin_digest" varchar(64) null, "change" text null, "change_digest" varchar(64) null, "previous" varchar(64) not null, "hash" varchar(64) not null, primary key ("seq"));`);
    this.addSql(`create index "audit_entries_at_index" on "audit_entries" ("at");`);
    this.addSql(`create index "audit_entries_actor_seq_index" on "audit_entries" ("actor", "seq");`);
    this.addSql(`create index "audit_entries_subject_seq_index" on "audit_entries" ("subject", "seq");`);
    this.addSql(`create index "audit_entries_act_seq_index" on "audit_entries" ("act", "seq");`);

    this.addSql(`create table "audit_heads" ("id" int not null, "seq" bigint not null default '0', "hash" varchar(64) not null default '', "removed_seq" bigint not null default '0', "removed_hash" varchar(64) not null default '', primary key ("id"));`);

    this.addSql(`create or replace function "audit_entries_chain_fn"() returns trigger as \$\$ begin loop
    select h.seq + 1, h.hash into new.seq, new.previous from audit_heads h where h.id = 1 for update;     exit when found;     insert into audit_heads (id) values (1) on conflict do nothing;   end loop;   new.at := date_trunc('milliseconds', clock_timestamp());   new.origin_digest := encode(sha256(convert_to(new.origin, 'UTF8')), 'hex');   new.change_digest := encode(sha256(convert_to(new.change, 'UTF8')), 'hex');   new.hash := encode(sha256(convert_to(concat_ws(chr(10), new.seq,
    to_char(new.at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), new.act, new.outcome, new.actor,
    coalesce(new.subject, ''), coalesce(new.request_id, ''), coalesce(new.origin_digest, ''),
    coalesce(new.change_digest, ''), new.previous), 'UTF8')), 'hex');   update audit_heads h set seq = new.seq, hash = new.hash where h.id = 1;   return new; end; \$\$ language plpgsql;`);
    this.addSql(`create trigger "chain" BEFORE INSERT on "audit_entries" for each ROW execute function "audit_entries_chain_fn"();`);
    this.addSql(`create or replace function "audit_entries_refuse_fn"() returns trigger as \$\$ begin if tg_op = 'DELETE' then
    if old.seq <= (select h.removed_seq from audit_heads h where h.id = 1) then return old; end if;   elsif (new.origin is null or new.origin = old.origin) and (new.change is null or new.change = old.change)
    and to_jsonb(new) - 'origin' - 'change' = to_jsonb(old) - 'origin' - 'change' then
    return new;   end if;   raise exception 'the audit log takes no changes'; end; \$\$ language plpgsql;`);
    this.addSql(`create trigger "refuse" BEFORE UPDATE OR DELETE on "audit_entries" for each ROW execute function "audit_entries_refuse_fn"();`);
  }

  override down(): void | Promise<void> {
    this.addSql(`drop trigger if exists "chain" on "audit_entries";`);
    this.addSql(`drop function if exists "audit_entries_chain_fn"();`);
    this.addSql(`drop trigger if exists "refuse" on "audit_entries";`);
    this.addSql(`drop function if exists "audit_entries_refuse_fn"();`);
    this.addSql(`drop table if exists "audit_entries" cascade;`);
    this.addSql(`drop table if exists "audit_heads" cascade;`);
  }

}
