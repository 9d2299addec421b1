import { isoTime, statement, unboundedStatement } from '../sql/statement.ts'

/** A row of the change log. */
export interface LoggedChange {
  stream: string
  epoch: string
  seq: number
  kind: string
  subject: string
  at: string
  /** The number by which older front ends ask for what changed, where it has one. */
  number: string | null
  /** How an answer that a model gives goes on, where one changed. */
  status: AnswerStatus | null
}

interface AnswerStatus {
  model: string
  isGenerating: boolean
  /** The code of what went wrong. */
  error: string | null
}

/**
 * Tells one life of the database from another. The cluster, its timeline and the table itself differ after a restore from a
 * dump or from archived logs, and after a failover; of a copied disk `svc restored` has to tell.
 */
const epoch = `(select left(md5(concat_ws(':', c.system_identifier, left(pg_walfile_name(pg_current_wal_lsn()), 8),
    'change_streams'::regclass::oid, (select epoch from change_epochs order by at desc limit 1))), 12)
  from pg_control_system() c)`

/** Areas add these columns to the changes of their types: SQL for a column of a row of the log, null where the row is of another type. */
export interface ChangeDetails {
  number: (change: string) => string
  status: (change: string) => string
}

/**
 * Writes the changes in the expression `given` (n, stream, kind, subject, number, status) to the log, and selects them as they are logged.
 * Locks the row of each stream, in the order of their names, so that two transactions with several streams in common wait
 * for each other only once.
 */
export const writeLogSql = (given: string) => `counted as (
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
         (select g.status from ${given} g where g.kind = logged.kind and g.subject = logged.subject limit 1) as status
    from logged order by stream, seq`

/** Values: the stream. */
export const findPosition = statement<{ epoch: string; seq: number }>(
  'find-position',
  `select ${epoch} as epoch, coalesce((select seq from change_streams where stream = $1), 0)::float8 as seq`,
)

/** What is behind a position of a stream, with where the stream stands now. */
export interface ChangesSince {
  epoch: string
  seq: number
  changes: Pick<LoggedChange, 'seq' | 'kind' | 'subject' | 'at'>[]
}

/** Values: the stream, the number after which to begin, how many at most. */
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

/** The statements that tell what areas add to their changes. */
export const describeChanges = ({ number, status }: ChangeDetails) => ({
  /** Values: the changes as JSON, numbered by `n`. */
  recordChanges: statement<LoggedChange>(
    'record-changes',
    `with given as (
    select g.*, ${number('g')} as number, ${status('g')} as status
      from jsonb_to_recordset($1::jsonb) as g (n int, stream text, kind text, subject text)
  ), ${writeLogSql('given')}`,
  ),

  /** Values: streams, beside each the number after which to begin, and how many of each at most. */
  findChangesOfStreams: unboundedStatement<ChangesOfStream>(
    `select g.stream, ${epoch} as epoch, coalesce(s.seq, 0)::float8 as seq,
          coalesce((select json_agg(c) from (
            select l.seq, l.kind, l.subject, ${isoTime('l.at')} as at, ${number('l')} as number, ${status('l')} as status from change_log l
             where l.stream = g.stream and l.seq > g.seq order by l.seq limit $3) c), '[]') as changes
     from unnest($1::text[], $2::bigint[]) as g (stream, seq) left join change_streams s on s.stream = g.stream`,
  ),
})

/** Values: streams, and beside each the last number that is known. Lists those that have gone on. */
export const findStreamsAhead = statement<{ epoch: string; ahead: string[] }>(
  'find-streams-ahead',
  `select ${epoch} as epoch, array(select s.stream
     from unnest($1::text[], $2::bigint[]) as g (stream, seq) join change_streams s on s.stream = g.stream
    where s.seq > g.seq) as ahead`,
)

/** Says that numbers may be given a second time from now on. */
export const beginEpoch = statement<never>('begin-epoch', 'insert into change_epochs default values')
