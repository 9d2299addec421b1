import { statement } from '../sql/statement.ts'
import type { LimitUnit } from './usage-limit.ts'

/**
 * SQL for start and end of the period of a limit `l` that contains a moment. Minutes and hours are in UTC, where none
 * is skipped or repeated; days, weeks and months begin at midnight in the limit's time zone, at the second one if the
 * clock shows it twice.
 */
export const periodAt = (moment: string) => `cross join lateral (
     select ('1 ' || l.period)::interval as length, case when l.period in ('minute', 'hour') then 'UTC' else l.time_zone end as zone) z
   cross join lateral (select date_trunc(l.period, ${moment} at time zone zone) as latest) t
   cross join lateral (
     select case when latest at time zone zone > ${moment} then latest - length else latest end as local_start) b
   cross join lateral (
     select local_start at time zone zone as starts_at, (local_start + length) at time zone zone as ends_at) s`

/** SQL for the current period of a limit `l`. */
export const runningPeriod = periodAt('now()')

export interface CounterRow {
  id: number
  limitId: number
  subjectId: string
  /** Milliseconds until the period ends by the database's clock. */
  remainingMs: number
}

/** Finds the counters of the current periods. Values: ids of limits, and beside each the subject's id. */
export const findCounters = statement<CounterRow>(
  'find-usage-counters',
  `select c.id::float8 as id, c.limit_id as "limitId", c.subject_id as "subjectId",
          (extract(epoch from c.ends_at - now()) * 1000)::float8 as "remainingMs"
     from unnest($1::int[], $2::text[]) as a(limit_id, subject_id) join usage_limits l on l.id = a.limit_id
     ${runningPeriod}
     join usage_counters c on c.limit_id = l.id and c.subject_id = a.subject_id and c.starts_at = s.starts_at
                          and c.ends_at = s.ends_at`,
)

/**
 * Creates the counters of new periods; if the length of a period has changed, its counter is kept. Values: those of
 * `findCounters`. The insert names no columns for a conflict: see `stripe`.
 */
export const openCounters = statement<never>(
  'open-usage-counters',
  `with periods as (
     select l.id as limit_id, a.subject_id, s.starts_at, s.ends_at
       from unnest($1::int[], $2::text[]) as a(limit_id, subject_id) join usage_limits l on l.id = a.limit_id
       ${runningPeriod}
   ), opened as (
     insert into usage_counters (limit_id, subject_id, starts_at, ends_at)
     select limit_id, subject_id, starts_at, ends_at from periods order by 1, 2, 3
         on conflict do nothing
   ), locked as (
     select c.id, p.ends_at
       from periods p join usage_counters c on c.limit_id = p.limit_id and c.subject_id = p.subject_id
                                           and c.starts_at = p.starts_at and c.ends_at <> p.ends_at
      order by c.id for update of c
   )
   update usage_counters c set ends_at = l.ends_at from locked l where c.id = l.id`,
)

/** Counts refused calls. Values: the counters without enough left, once per call. */
export const countRefusals = statement<never>(
  'count-refusals',
  `with refusals as (
     select id, count(*) as calls from unnest($1::bigint[]) as a(id) group by id
   ), locked as (
     select c.id, r.calls from refusals r join usage_counters c on c.id = r.id order by c.id for update of c
   )
   update usage_counters c set refused = c.refused + l.calls from locked l where c.id = l.id`,
)

/** The largest cap including top-ups; larger numbers would not be exact. */
export const MAX_CAP = 9_000_000_000_000_000

interface TopUpResult {
  name: string
  unit: LimitUnit
  currency: string | null
  /** Total of the period, in requests, tokens or millionths of the currency. */
  toppedUp: number
  isTooMuch: boolean
}

/**
 * Tops up a limit for the current period, unless the total exceeds the largest cap. Values: the limit, the subject, the
 * amount.
 */
export const topUpCounter = statement<TopUpResult>(
  'top-up-usage-counter',
  `with mine as (
     select c.id, l.name, l.unit, l.currency, c.topped_up + $3::bigint as topped_up, l.cap + c.topped_up + $3::bigint > ${MAX_CAP} as is_too_much
       from usage_limits l ${runningPeriod} join usage_counters c on c.limit_id = l.id and c.starts_at = s.starts_at
      where l.id = $1 and c.subject_id = $2 for update of c
   ), topped as (
     update usage_counters c set topped_up = m.topped_up from mine m where c.id = m.id and not is_too_much
   )
   select name, unit, currency, topped_up::float8 as "toppedUp", is_too_much as "isTooMuch" from mine`,
)

/** Deletes counters of periods that ended a day ago or earlier, at most 5,000 at once. */
export const removeOldCounters = statement<never>(
  'remove-old-usage-counters',
  `delete from usage_counters
    where id = any(array(
      select id from usage_counters where held = 0 and ends_at < now() - interval '1 day' order by ends_at limit 5000))`,
)
