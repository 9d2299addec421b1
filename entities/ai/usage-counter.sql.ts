import { epochMs, statement } from '../sql/statement.ts'
import type { LimitUnit } from './usage-limit.ts'

/**
 * When the period of a limit `l` begins and ends in which a moment lies. Minutes and hours are those of UTC, where none is skipped or
 * repeated; days, weeks and months begin at midnight by the clocks of the limit's time zone, where it strikes
 * twice at the second one.
 */
export const periodAt = (moment: string) => `cross join lateral (
     select ('1 ' || l.period)::interval as length, case when l.period in ('minute', 'hour') then 'UTC' else l.time_zone end as zone) z
   cross join lateral (select date_trunc(l.period, ${moment} at time zone zone) as latest) t
   cross join lateral (
     select case when latest at time zone zone > ${moment} then latest - length else latest end as local_start) b
   cross join lateral (
     select local_start at time zone zone as starts_at, (local_start + length) at time zone zone as ends_at) s`

/** The period of a limit `l` that runs. */
export const runningPeriod = periodAt('now()')

export interface CounterRow {
  limitId: number
  subjectId: string
  /** The counters of all stripes. */
  ids: number[]
  /** What the period has beyond the cap. */
  toppedUp: number
  /** The end of the period, in milliseconds since 1970. */
  endsAt: number
  windowSeconds: number
  /** How long it still is by the clock of the database. */
  remainingMs: number
}

/** The counters of the periods that run. Values: the ids of limits, and beside each whose counters of it. */
export const findCounters = statement<CounterRow>(
  'find-usage-counters',
  `select c.limit_id as "limitId", c.subject_id as "subjectId", ${epochMs('c.ends_at')} as "endsAt",
          extract(epoch from c.ends_at - c.starts_at)::int as "windowSeconds",
          (extract(epoch from c.ends_at - now()) * 1000)::float8 as "remainingMs",
          json_agg(c.id order by c.stripe) as ids, sum(c.topped_up)::float8 as "toppedUp"
     from unnest($1::int[], $2::text[]) as a(limit_id, subject_id) join usage_limits l on l.id = a.limit_id
     ${runningPeriod}
     join usage_counters c on c.limit_id = l.id and c.subject_id = a.subject_id and c.starts_at = s.starts_at
                          and c.ends_at = s.ends_at
    group by c.limit_id, c.subject_id, c.starts_at, c.ends_at`,
)

/** Makes the counters of periods that have just begun; one that begins with another length keeps its counters. Values: as of `findCounters`. */
export const openCounters = statement<never>(
  'open-usage-counters',
  `insert into usage_counters (limit_id, subject_id, starts_at, ends_at, stripe, share, cap)
   select l.id, a.subject_id, s.starts_at, s.ends_at, n, l.cap / l.stripes + (n < l.cap % l.stripes)::int, l.cap
     from unnest($1::int[], $2::text[]) as a(limit_id, subject_id) join usage_limits l on l.id = a.limit_id
     ${runningPeriod}
    cross join generate_series(0, l.stripes - 1) as n
    order by 1, 2, 3, 5
       on conflict (limit_id, subject_id, starts_at, stripe) do update set ends_at = excluded.ends_at
    where usage_counters.ends_at <> excluded.ends_at`,
)

/** More than this no cap is, with what was topped up: numbers beyond are not exact. */
export const MAX_CAP = 9_000_000_000_000_000

interface ToppedUp {
  name: string
  unit: LimitUnit
  currency: string | null
  /** In all in this period, in requests, tokens or millionths of the currency. */
  toppedUp: number
  isTooMuch: boolean
}

/**
 * Gives more of a limit for the period that runs, unless that were more than a cap may be. It goes to the first stripe; the next
 * call that needs it on another one shares it out. Values: the limit, whose counter, how much.
 */
export const topUpCounter = statement<ToppedUp>(
  'top-up-usage-counter',
  `with mine as (
     select c.id, l.name, l.unit, l.currency, c.topped_up + $3::bigint as topped_up, l.cap + c.topped_up + $3::bigint > ${MAX_CAP} as is_too_much
       from usage_limits l ${runningPeriod} join usage_counters c on c.limit_id = l.id and c.starts_at = s.starts_at
      where l.id = $1 and c.subject_id = $2 and c.stripe = 0 for update of c
   ), topped as (
     update usage_counters c set topped_up = m.topped_up, share = c.share + $3::bigint from mine m where c.id = m.id and not is_too_much
   )
   select name, unit, currency, topped_up::float8 as "toppedUp", is_too_much as "isTooMuch" from mine`,
)

/** Has the stripes of a limit shared anew, which took more than their shares while it only observed. Values: the limit. */
export const unshareCounters = `update usage_counters set cap = -1
  where id in (select id from usage_counters where limit_id = ? and ends_at > now() order by id for update)`

/**
 * Has limits judged as a whole, and shared anew, of which one stripe took more than its share: the others have too much then.
 * Rows are locked in the order in which calls lock them. Values: the stripes that took too much.
 */
export const closeStripes = statement<never>(
  'close-usage-stripes',
  `update usage_counters set cap = -1
    where id in (
      select c.id from usage_counters o join usage_limits l on l.id = o.limit_id
        join usage_counters c on c.limit_id = o.limit_id and c.subject_id = o.subject_id and c.starts_at = o.starts_at
       where o.id = any($1::bigint[]) and l.stripes > 1 order by c.id for update of c)`,
)

/** Removes counters of periods that ended a day ago or more, at most 5,000 at once. */
export const removeOldCounters = statement<never>(
  'remove-old-usage-counters',
  `delete from usage_counters
    where id = any(array(
      select id from usage_counters where held = 0 and ends_at < now() - interval '1 day' order by ends_at limit 5000))`,
)
