import { isoTime, statement, unboundedStatement } from '../sql/statement.ts'

/** A row of the change log. */
export interface LoggedChange {
  stream: string
  epoch: string
  seq: number
  kind: string
  subject: string
  at: string
  /** The number by which older front ends request the changed message, if it has one. */
  number: string | null
  /** Status of a model's answer, if one changed. */
  status: AnswerStatus | null
  /** The changed row, as every follower of the stream may read it. Only the bus has it; the log never does. */
  record?: object | undefined
}

interface AnswerStatus {
  model: string
  isGenerating: boolean
  /** The error code. */
  error: string | null
}

/**
 * Identifies a lifetime of the database. Cluster, timeline and table differ after a restore from a dump or archived
 * logs, and after a failover; for a copied disk, `svc restored` must report it.
 */
const epoch = `(select left(md5(concat_ws(':', c.system_identifier, left(pg_walfile_name(pg_current_wal_lsn()), 8),
    'change_streams'::regclass::oid, (select epoch from change_epochs order by at desc limit 1))), 12)
  from pg_control_system() c)`

/** Further columns for changes of certain types, added by areas: SQL on a row of the log, null for other types. */
export interface ChangeDetails {
  number: (change: string) => string
  status: (change: string) => string
}

/**
 * Builds SQL that logs the changes in `given` (n, stream, kind, subject, number, status) and selects the logged rows.
 * Streams are locked in the order of their names, which prevents deadlocks. `more` is SQL of further columns.
 */
export const writeLogSql = (given: string, more = '') => `counted as (
    insert into change_streams as s (stream, seq)
    select stream, count(*) from ${given} group by stream order by stream
    on conflict (stream) do update set seq = s.seq + excluded.seq
    returning s.stream, s.seq
  ), logged as (
    insert into change_log (stream, seq, kind, subject)
    select g.stream, c.seq + 1 - row_number() over (partition by g.stream order by g.n desc), g.kind, g.subject
      from ${given} g join counted c using (stream)
    returning stream, seq, kind, subject, at
  )
  select stream, ${epoch} as epoch, seq::float8 as seq, kind, subject, ${isoTime('at')} as at,
         (select g.number from ${given} g where g.kind = logged.kind and g.subject = logged.subject limit 1) as number,
         (select g.status from ${given} g where g.kind = logged.kind and g.subject = logged.subject limit 1) as status${more}
    from logged order by stream, seq`

/** Values: the stream. */
export const findPosition = statement<{ epoch: string; seq: number }>(
  'find-position',
  `select ${epoch} as epoch, coalesce((select seq from change_streams where stream = $1), 0)::float8 as seq`,
)

/** Changes after a position of a stream, and the stream's current position. */
export interface ChangesSince {
  epoch: string
  seq: number
  changes: Pick<LoggedChange, 'seq' | 'kind' | 'subject' | 'at'>[]
}

/** Values: the stream, the number after which to begin, the limit. */
export const findChanges = unboundedStatement<ChangesSince>(
  `select ${epoch} as epoch, coalesce((select seq from change_streams where stream = $1), 0)::float8 as seq,
          coalesce((select json_agg(c) from (
            select seq, kind, subject, ${isoTime('at')} as at from change_log
             where stream = $1 and seq > $2::bigint order by seq limit $3) c), '[]') as changes`,
)

/** Values: streams. */
export const findPositions = statement<{ epoch: string; stream: string; seq: number }>(
  'find-positions',
  `select ${epoch} as epoch, g.stream, coalesce(s.seq, 0)::float8 as seq
     from unnest($1::text[]) as g (stream) left join change_streams s on s.stream = g.stream`,
)

export interface ChangesOfStream {
  stream: string
  epoch: string
  seq: number
  changes: Omit<LoggedChange, 'stream' | 'epoch'>[]
}

/** Creates the statements that contain the areas' further columns. */
export const describeChanges = ({ number, status }: ChangeDetails) => ({
  /** Values: the changes as JSON, numbered by `n`. */
  recordChanges: statement<LoggedChange>(
    'record-changes',
    `with given as (
    select g.*, ${number('g')} as number, ${status('g')} as status
      from jsonb_to_recordset($1::jsonb) as g (n int, stream text, kind text, subject text)
  ), ${writeLogSql('given')}`,
  ),

  /** Values: streams, beside each the number after which to begin, and the limit per stream. */
  findChangesOfStreams: unboundedStatement<ChangesOfStream>(
    `select g.stream, ${epoch} as epoch, coalesce(s.seq, 0)::float8 as seq,
          coalesce((select json_agg(c) from (
            select l.seq, l.kind, l.subject, ${isoTime('l.at')} as at, ${number('l')} as number, ${status('l')} as status from change_log l
             where l.stream = g.stream and l.seq > g.seq order by l.seq limit $3) c), '[]') as changes
     from unnest($1::text[], $2::bigint[]) as g (stream, seq) left join change_streams s on s.stream = g.stream`,
  ),
})

/** Lists streams with newer changes. Values: streams, and beside each the last known number. */
export const findStreamsAhead = statement<{ epoch: string; ahead: string[] }>(
  'find-streams-ahead',
  `select ${epoch} as epoch, array(select s.stream
     from unnest($1::text[], $2::bigint[]) as g (stream, seq) join change_streams s on s.stream = g.stream
    where s.seq > g.seq) as ahead`,
)

/** Starts a new epoch, because numbers may be assigned again after a restore. */
export const beginEpoch = statement<never>('begin-epoch', 'insert into change_epochs default values')
