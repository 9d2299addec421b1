import { defineEntity, p } from '@mikro-orm/core'
import { moment } from '../sql/columns.ts'

/** The last entry of the audit log, locked by whoever appends, and the last one removed by retention. */
export const AuditHead = defineEntity({
  name: 'AuditHead',
  tableName: 'audit_heads',
  properties: {
    /** A single row. */
    id: p.integer().primary().autoincrement(false),
    seq: p.bigint('number').default(0),
    hash: p.string().length(64).default(''),
    removedSeq: p.bigint('number').default(0),
    removedHash: p.string().length(64).default(''),
    /** The number and hash of the last removed entry, sealed with the application key, which the database does not have. */
    removedSeal: p.text().nullable(),
  },
})

/** Builds SQL for the SHA-256 of a text. */
const sha256 = (text: string) => `encode(sha256(convert_to(${text}, 'UTF8')), 'hex')`

/** Trigger that assigns number, time and hash of an entry, and locks the head until the commit. */
const chain = `
  loop
    select h.seq + 1, h.hash into new.seq, new.previous from audit_heads h where h.id = 1 for update;
    exit when found;
    insert into audit_heads (id) values (1) on conflict do nothing;
  end loop;
  new.at := date_trunc('milliseconds', clock_timestamp());
  new.origin_digest := ${sha256('new.origin')};
  new.change_digest := ${sha256('new.change')};
  new.hash := ${sha256(`concat_ws(chr(10), new.seq,
    to_char(new.at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), new.act, new.outcome, new.actor,
    coalesce(new.subject, ''), coalesce(new.request_id, ''), coalesce(new.origin_digest, ''),
    coalesce(new.change_digest, ''), new.previous)`)};
  update audit_heads h set seq = new.seq, hash = new.hash where h.id = 1;
  return new;`

/** Trigger that allows only the erasure of personal data, and the removal of entries marked by retention. */
const refuse = `
  if tg_op = 'DELETE' then
    if old.seq <= (select h.removed_seq from audit_heads h where h.id = 1) then return old; end if;
  elsif (new.origin is null or new.origin = old.origin) and (new.change is null or new.change = old.change)
    and to_jsonb(new) - 'origin' - 'change' = to_jsonb(old) - 'origin' - 'change' then
    return new;
  end if;
  raise exception 'the audit log takes no changes';`

/**
 * An audit entry. Personal data is in `origin` and `change`, of which the hash chain contains only digests, so that
 * erasure does not break the chain.
 */
export const AuditEntry = defineEntity({
  name: 'AuditEntry',
  tableName: 'audit_entries',
  triggers: [
    { name: 'chain', timing: 'before', events: ['insert'], body: chain },
    { name: 'refuse', timing: 'before', events: ['update', 'delete'], body: refuse },
  ],
  indexes: [{ properties: ['actor', 'seq'] }, { properties: ['subject', 'seq'] }, { properties: ['act', 'seq'] }],
  properties: {
    seq: p.bigint('number').primary().autoincrement(false),
    at: moment().index(),
    /** The called procedure, such as `aiModels.update`. */
    act: p.string().length(60),
    /** `ok`, or the error code. */
    outcome: p.string().length(60),
    /** `user:{id}`, `app:{id}`, `host`, `guest` or `registering`. */
    actor: p.string().length(40),
    /** The object of the call, such as `user:5` or `ai-models:3`. */
    subject: p.string().length(200).nullable(),
    requestId: p.string().length(100).nullable(),
    /** The origin as JSON with a salt, so that nobody can guess an address from the digest. Erased with the actor. */
    origin: p.text().nullable(),
    originDigest: p.string().length(64).nullable(),
    /** The change as JSON with a salt. Erased with the person it is about. */
    change: p.text().nullable(),
    changeDigest: p.string().length(64).nullable(),
    previous: p.string().length(64),
    hash: p.string().length(64),
  },
})
