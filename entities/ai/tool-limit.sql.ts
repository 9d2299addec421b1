import { statement } from '../sql/statement.ts'
import { type ReachedLimit, reachedLimits } from './usage-commit.sql.ts'
import { type RequestedLimit, requestedLimits } from './usage-reservation.sql.ts'

interface CountedCall {
  isGranted: boolean
  /** True if the limits have changed since the given version, or a period has ended; nothing is counted then. */
  isStale: boolean
  limits: RequestedLimit[]
  reached: ReachedLimit[] | null
}

/**
 * Counts a call of a tool on all given counters, or on none if a limit that is enforced has no room for it. It counts
 * before the call and needs no reservation, as each call takes the same. Values: version of the limits, counters.
 */
export const countToolCall = statement<CountedCall>(
  'count-tool-call',
  `with locked as (
     select id, limit_id, starts_at, ends_at, used, held, topped_up from usage_counters
      where id = any($2::bigint[]) order by id for update
   ), judged as (
     select c.*, 1 as amount, c.used + c.held + 1 <= l.cap + c.topped_up as fits, l.mode = 'observe' as observes
       from locked c join usage_limits l on l.id = c.limit_id
   ), verdict as (
     select coalesce((select version from usage_limit_versions), 0) <> $1::int
              or exists (select from unnest($2::bigint[]) as g(id) where id not in (select id from locked where ends_at > now())) as stale,
            not exists (select from judged where not fits and not observes) as granted
   ), counted as (
     update usage_counters c set used = c.used + v.granted::int, refused = c.refused + (not j.fits)::int
       from judged j, verdict v where c.id = j.id and not v.stale
     returning c.id, c.limit_id, c.subject_id, c.ends_at, c.topped_up, c.used, j.used as used_before
   ), ${reachedLimits}
   select granted as "isGranted", stale as "isStale", ${requestedLimits} as limits, (select limits from reached) as reached
     from verdict`,
)
