import { statement } from '../sql/statement.ts'
import { type ReachedLimit, reachedLimits } from './usage-commit.sql.ts'
import { type RequestedLimit, requestedLimits } from './usage-reservation.sql.ts'

interface CountedCalls {
  isGranted: boolean
  /** True if the limits have changed since the given version, or a period has ended; nothing is counted then. */
  isStale: boolean
  limits: RequestedLimit[]
  reached: ReachedLimit[] | null
}

/**
 * Counts all given calls of tools or none: none if a limit that is enforced has no room for them together. It counts
 * before the calls and needs no reservations, as what each takes is known. Values: version of the limits, then rows of a
 * call's number, a counter, and what the call takes of it, or null if that is unknown.
 */
export const countToolCalls = statement<CountedCalls>(
  'count-tool-calls',
  `with parts as (
     select a.counter, a.amount, sum(a.amount) over (partition by a.counter order by a.call) as running
       from unnest($2::int[], $3::bigint[], $4::bigint[]) as a(call, counter, amount)
   ), locked as (
     select id, limit_id, starts_at, ends_at, used, held, topped_up from usage_counters
      where id = any($3::bigint[]) order by id for update
   ), judged as (
     select c.id, c.limit_id, c.starts_at, c.ends_at, c.topped_up, c.used, c.held, coalesce(sum(p.amount), 0)::bigint as amount,
            count(*) filter (where p.amount is null or c.used + c.held + p.running > l.cap + c.topped_up) as misfits,
            l.mode = 'observe' as observes
       from locked c join usage_limits l on l.id = c.limit_id join parts p on p.counter = c.id
      group by c.id, c.limit_id, c.starts_at, c.ends_at, c.topped_up, c.used, c.held, l.id
   ), verdict as (
     select coalesce((select version from usage_limit_versions), 0) <> $1::int
              or exists (select from parts where counter not in (select id from locked where ends_at > now())) as stale,
            not exists (select from judged where misfits > 0 and not observes) as granted
   ), counted as (
     update usage_counters c set used = c.used + j.amount, refused = c.refused + j.misfits
       from judged j where c.id = j.id and c.id = any($3::bigint[]) and (select granted and not stale from verdict)
     returning c.id, c.limit_id, c.subject_id, c.ends_at, c.topped_up, c.used, j.used as used_before
   ), ${reachedLimits}
   select granted as "isGranted", stale as "isStale", ${requestedLimits} as limits, (select limits from reached) as reached
     from verdict`,
)

/** Looks at counters without counting. Values: counters, and what a call would take of each, or null. */
export const showToolLimits = statement<{ limits: RequestedLimit[] }>(
  'show-tool-limits',
  `with judged as (
     select c.id, c.limit_id, c.starts_at, c.ends_at, c.topped_up, c.used, c.held, p.amount
       from usage_counters c join unnest($1::bigint[], $2::bigint[]) as p(id, amount) on p.id = c.id
      where c.id = any($1::bigint[]) and c.ends_at > now()
   )
   select ${requestedLimits} as limits`,
)
