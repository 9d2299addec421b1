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
  /** In requests, tokens or millionths of the currency, as all that follows; with what was topped up. */
  cap: number
  used: number
  held: number
  remaining: number
  refused: number
  /** In RFC 3339. */
  resetsAt: string
}

/** The columns of a limit `l` with its counter `c` and its period `s`. Their subject is an expression. */
export const selectLimitState = (
  subjectId: string,
) => `l.name, l.subject, ${subjectId} as "subjectId", l.unit, l.currency, l.period, l.mode, l.active,
       (l.cap + coalesce(c.topped_up, 0))::float8 as cap, coalesce(c.used, 0)::float8 as used, coalesce(c.held, 0)::float8 as held,
       greatest(0, l.cap + coalesce(c.topped_up - c.used - c.held, 0))::float8 as remaining,
       coalesce(c.refused, 0)::float8 as refused, ${isoTime('s.ends_at')} as "resetsAt"`

/** Those of some names that are no time zone of the database: one that it does not know breaks each statement. Values: names. */
export const unknownTimeZones = statement<{ name: string }>(
  'unknown-time-zones',
  `select name from unnest($1::text[]) as name
    where lower(name) not in (select lower(name) from pg_timezone_names)`,
)

/**
 * What applies to one caller; limits that each model, provider or room has of its own only where they were used. Values: the kinds
 * and ids of the subjects.
 */
export const listLimitsFor = statement<LimitState>(
  'list-limits-for',
  `select ${selectLimitState('a.id')}
     from usage_limits l
     join unnest($1::text[], $2::text[]) as a(subject, id)
       on a.subject = l.subject and (l.subject_id is null or l.subject_id = a.id)
     ${runningPeriod}
     left join usage_counters c on c.limit_id = l.id and c.subject_id = a.id and c.starts_at = s.starts_at
    where l.active and (l.subject not in ('provider', 'model', 'room') or l.subject_id is not null or c.id is not null) order by l.name, a.id limit 10000`,
)

/** A limit as calls are judged by it. */
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

/** With the version of the limits, which is of the same moment. */
export const listActiveLimits = statement<{ version: number; limits: ActiveLimit[] }>(
  'list-active-limits',
  `select coalesce((select version from usage_limit_versions), 0) as version,
          coalesce((select json_agg(json_build_object('id', id, 'name', name, 'subject', subject, 'subjectId', subject_id, 'unit', unit,
                      'currency', currency, 'cap', cap, 'unpricedCost', unpriced_cost, 'mode', mode, 'period', period, 'timeZone', time_zone)
                      order by id)
                      from usage_limits where active), '[]') as limits`,
)

/** In place of the id of a person or an app of a name that nobody has yet. */
export const toUnclaimedId = (name: string) => `name:${name}`

/**
 * Gives limits to whom they were named for, and makes every process read them anew where there are any. Values: id, kind,
 * `unclaimed` name.
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
 * Takes the limits of the file back from whoever gives up their name; what administrators made stays theirs. Values: `unclaimed`
 * name, kind, id.
 */
export const returnLimits = statement<never>(
  'return-limits',
  `with returned as (
    update usage_limits set subject_id = $1 where subject = $2 and subject_id = $3 and from_file and active returning id
  )
  insert into usage_limit_versions (id, version) select 1, 1 where exists (select from returned)
  on conflict (id) do update set version = usage_limit_versions.version + 1`,
)

/** Makes every process read the limits anew; in the transaction that changes them. */
export const raiseLimitVersion = statement<never>(
  'raise-limit-version',
  `insert into usage_limit_versions (id, version) values (1, 1)
  on conflict (id) do update set version = usage_limit_versions.version + 1`,
)
