import { isoTime, statement, unboundedStatement } from '../sql/statement.ts'
import { type LoggedChange, writeLogSql } from './change-log.sql.ts'

/** An entry before it is appended to the log. */
export interface NewAuditEntry {
  act: string
  outcome: string
  actor: string
  subject: string | null
  requestId: string | null
  origin: string | null
  change: string | null
}

/**
 * Appends entries, and notifies administrators of each in their stream, except of reads of the audit log. The head of
 * the log and then the stream stay locked until the transaction ends. Values: entries as JSON, in their order.
 */
export const appendToAudit = statement<LoggedChange>(
  'append-to-audit',
  `with appended as (
    insert into audit_entries (act, outcome, actor, subject, request_id, origin, change)
    select e ->> 'act', e ->> 'outcome', e ->> 'actor', e ->> 'subject', e ->> 'requestId', e ->> 'origin', e ->> 'change'
      from jsonb_array_elements($1::jsonb) with ordinality as g (e, n) order by n
    returning seq, act, subject
  ), given as (
    select seq as n, 'admins' as stream, act as kind, coalesce(left(subject, 40), '') as subject, null as number, null as status
      from appended where act not like 'audit.%'
  ), ${writeLogSql('given')}`,
)

/** An entry with its hash links, for verification and export of the chain. */
export interface ChainedEntry extends NewAuditEntry {
  seq: number
  at: string
  originDigest: string | null
  changeDigest: string | null
  previous: string
  hash: string
}

const chainedColumns = `seq::float8 as seq, ${isoTime('at')} as at, act, outcome, actor, subject, request_id as "requestId", origin, change,
       origin_digest as "originDigest", change_digest as "changeDigest", previous, hash`

/** Reads entries up to a number, oldest first. Values: the number, null for all. */
export const readAuditChain = unboundedStatement<ChainedEntry>(
  `select ${chainedColumns} from audit_entries where $1::bigint is null or seq <= $1::bigint order by seq`,
)

/** Finds the age of the last backup, in seconds; no row if the log has none. */
export const findBackupAge = statement<{ seconds: number }>(
  'find-backup-age',
  `select extract(epoch from now() - at)::float8 as seconds
     from audit_entries where act = 'backups.create' and outcome = 'ok' order by seq desc limit 1`,
)

export interface AuditEnds {
  seq: number
  hash: string
  removedSeq: number
  removedHash: string
  removedSeal: string | null
}

export const findAuditEnds = statement<AuditEnds>(
  'find-audit-ends',
  `select seq::float8 as seq, hash, removed_seq::float8 as "removedSeq", removed_hash as "removedHash",
       removed_seal as "removedSeal" from audit_heads where id = 1`,
)

/**
 * Lists entries. Values, null for any: act (or its beginning with `%`), actor, subject, outcome, first and last day in
 * UTC, the number before which to begin; the limit.
 */
export const listAuditEntries = unboundedStatement<ChainedEntry>(
  `select ${chainedColumns} from audit_entries
    where ($1::text is null or act like $1) and ($2::text is null or actor = $2) and ($3::text is null or subject = $3)
      and ($4::text is null or outcome = $4) and ($5::date is null or at >= $5::date at time zone 'utc')
      and ($6::date is null or at < ($6::date + 1) at time zone 'utc')
      and ($7::bigint is null or seq < $7)
    order by seq desc limit $8`,
)

/** Lists the actors of the latest entries. */
export const listRecentActors = unboundedStatement<{ actor: string }>(
  `select distinct actor from (select actor from audit_entries order by seq desc limit 5000) e order by actor limit 200`,
)

/** Erases the data of a person; only the id stays. Values: the person's id. */
export const eraseFromAudit = statement<never>(
  'erase-from-audit',
  `update audit_entries set origin = case when actor = $1 then null else origin end,
                            change = case when subject = $1 then null else change end
    where (actor = $1 and origin is not null) or (subject = $1 and change is not null)`,
)

/** Finds the last entry before a time, unless it is already removed. Values: the time. */
export const findLastAuditBefore = statement<{ seq: number; hash: string }>(
  'find-last-audit-before',
  `select e.seq::float8 as seq, e.hash
     from (select seq, hash from audit_entries where at < $1 order by at desc, seq desc limit 1) e, audit_heads h
    where h.id = 1 and e.seq > h.removed_seq`,
)

/** Marks entries as removed, unless later ones already are. Values: number and hash of the last one, and their seal. */
export const markAuditRemoved = statement<{ removedSeq: number; removedHash: string }>(
  'mark-audit-removed',
  `update audit_heads set removed_seq = $1, removed_hash = $2, removed_seal = $3 where id = 1 and removed_seq < $1
   returning removed_seq::float8 as "removedSeq", removed_hash as "removedHash"`,
)

/** Values: how many at most. */
export const deleteRemovedAudit = statement<{ seq: number }>(
  'delete-removed-audit',
  `delete from audit_entries where seq in (
     select seq from audit_entries where seq <= (select removed_seq from audit_heads where id = 1) order by seq limit $1)
   returning seq::float8 as seq`,
)
