import { isoTime, statement } from '../sql/statement.ts'
import { runningPeriod } from './usage-counter.sql.ts'
import type { LimitPeriod, LimitSubject, LimitUnit } from './usage-limit.ts'

export interface LimitState {
  name: string
  subject: LimitSubject
  subjectId: string
  unit: LimitUnit
  currency: string | null
  period: LimitPeriod
  mode: 'enforce' | 'observe'
  active: boolean
  /** In requests, tokens or millionths of the currency, like all that follows; includes top-ups. */
  cap: number
  used: number
  held: number
  remaining: number
  refused: number
  /** In RFC 3339. */
  resetsAt: string
  /** Start of the count in RFC 3339, if it lies in the running period; null if the whole period counts. */
  countsFrom: string | null
}

/** Columns of a limit `l` with its counter `c` and period `s`. `subjectId` is an SQL expression. */
export const selectLimitState = (
  subjectId: string,
) => `l.name, l.subject, ${subjectId} as "subjectId", l.unit, l.currency, l.period, l.mode, l.active,
       (l.cap + coalesce(c.topped_up, 0))::float8 as cap, coalesce(c.used, 0)::float8 as used, coalesce(c.held, 0)::float8 as held,
       greatest(0, l.cap + coalesce(c.topped_up - c.used - c.held, 0))::float8 as remaining,
       coalesce(c.refused, 0)::float8 as refused, ${isoTime('s.ends_at')} as "resetsAt",
       case when l.counts_from > s.starts_at then ${isoTime('l.counts_from')} end as "countsFrom"`

/**
 * Selects names that are no time zones of the database, where an unknown one would break each statement. Values: names.
 */
export const unknownTimeZones = statement<{ name: string }>(
  'unknown-time-zones',
  `select name from unnest($1::text[]) as name
    where lower(name) not in (select lower(name) from pg_timezone_names)`,
)

/**
 * Lists limits of one caller; those per model, provider, room, tool or tool server only if they were used. Values: the kinds and ids of
 * the subjects.
 */
export const listLimitsFor = statement<LimitState>(
  'list-limits-for',
  `select ${selectLimitState('a.id')}
     from usage_limits l
     join unnest($1::text[], $2::text[]) as a(subject, id)
       on a.subject = l.subject and (l.subject_id is null or l.subject_id = a.id)
     ${runningPeriod}
     left join usage_counters c on c.limit_id = l.id and c.subject_id = a.id and c.starts_at = s.starts_at
    where l.active and (l.subject not in ('provider', 'model', 'room', 'tool-server', 'tool') or l.subject_id is not null or c.id is not null) order by l.name, a.id limit 10000`,
)

/** A limit as it is applied to calls. */
export interface ActiveLimit {
  id: number
  name: string
  subject: LimitSubject
  subjectId: string | null
  unit: LimitUnit
  currency: string | null
  cap: number
  unpricedCost: number | null
  mode: 'enforce' | 'observe'
  period: LimitPeriod
  timeZone: string
}

/** Lists the active limits with their version, read together. */
export const listActiveLimits = statement<{ version: number; limits: ActiveLimit[] }>(
  'list-active-limits',
  `select coalesce((select version from usage_limit_versions), 0) as version,
          coalesce((select json_agg(json_build_object('id', id, 'name', name, 'subject', subject, 'subjectId', subject_id, 'unit', unit,
                      'currency', currency, 'cap', cap, 'unpricedCost', unpriced_cost, 'mode', mode, 'period', period, 'timeZone', time_zone)
                      order by id)
                      from usage_limits where active), '[]') as limits`,
)

/** Returns the placeholder for the id of a person or app that does not exist yet. */
export const toUnclaimedId = (name: string) => `name:${name}`

/**
 * Assigns limits to the person or app they were named for, and raises the version if there are any. Values: id, kind,
 * placeholder id.
 */
export const claimLimits = statement<never>(
  'claim-limits',
  `with claimed as (
    update usage_limits set subject_id = $1 where subject = $2 and subject_id = $3 returning id
  )
  insert into usage_limit_versions (id, version) select 1, 1 where exists (select from claimed)
  on conflict (id) do update set version = usage_limit_versions.version + 1`,
)

/**
 * Detaches the limits of the configuration file from a released name; limits made by administrators stay. Values:
 * placeholder id, kind, id.
 */
export const returnLimits = statement<never>(
  'return-limits',
  `with returned as (
    update usage_limits set subject_id = $1 where subject = $2 and subject_id = $3 and from_file and active returning id
  )
  insert into usage_limit_versions (id, version) select 1, 1 where exists (select from returned)
  on conflict (id) do update set version = usage_limit_versions.version + 1`,
)

/** Raises the version, so that every process reads the limits again; run it in the transaction that changes them. */
export const raiseLimitVersion = statement<never>(
  'raise-limit-version',
  `insert into usage_limit_versions (id, version) values (1, 1)
  on conflict (id) do update set version = usage_limit_versions.version + 1`,
)
