import { AccessToken } from '../identity/access-token.ts'
import { User } from '../identity/user.ts'
import { expectFew, isoTime, lookUp, statement } from '../sql/statement.ts'
import type { LimitPeriod, LimitSubject, LimitUnit } from './usage-limit.ts'
import type { Outcome, UsageCounts } from './usage-record.ts'

/** The outcome and usage of a call. */
export interface UsageCommit extends UsageCounts {
  id: number
  outcome: Outcome
  /** True if a count is our estimate and not the provider's. */
  estimated: boolean
  /** Millionths of the currency; null if no price is known. */
  costMicros: number | null
  currency: string | null
  durationMs: number
  /** Time until the first piece of the answer; null if there was none. */
  firstPieceMs: number | null
  /** True to commit only if the lease of the calling process has expired. */
  expiredOnly: boolean
}

/** A limit whose usage has reached 80 or 100 percent. */
export interface ReachedLimit {
  limit: string
  subject: LimitSubject
  /** The id or name of the subject; empty for the installation. */
  subjectId: string
  percent: 80 | 100
  unit: LimitUnit
  currency: string | null
  period: LimitPeriod
  mode: 'enforce' | 'observe'
  /** In requests, tokens or millionths of the currency. */
  used: number
  cap: number
  /** End of the period, in RFC 3339. */
  resetsAt: string
}

/** CTE with the columns of the commits; the last value is their number. */
const commitRows = `given as (
     select * from unnest($1::bigint[], $2::text[], $3::int[], $4::int[], $5::int[], $6::int[], $7::int[], $8::int[],
                          $9::int[], $10::boolean[], $11::bigint[], $12::text[], $13::int[], $14::int[], $15::boolean[])
              as g(id, outcome, input, output, cached, cache_write, reasoning, searches, fetches, estimated, cost, currency, duration, first_piece, expired_only)
      ${expectFew('$16')}
   )`

/** CTE with the limits that counters of a CTE `counted` have reached: by the increment that crosses the percentage. */
export const reachedLimits = `reached as (
     select json_agg(json_build_object('limit', l.name, 'subject', l.subject, 'subjectId', c.subject_id, 'percent', w.percent, 'unit', l.unit,
              'currency', l.currency, 'period', l.period, 'mode', l.mode, 'used', c.used, 'cap', w.cap,
              'resetsAt', ${isoTime('c.ends_at')}) order by c.id) as limits
       from counted c join usage_limits l on l.id = c.limit_id cross join lateral (
         select l.cap + c.topped_up as cap, case when c.used >= l.cap + c.topped_up then 100 else 80 end as percent) w
      where l.active and c.used_before < w.cap * w.percent / 100.0 and c.used >= w.cap * w.percent / 100.0
   )`

/**
 * CTEs that move the amounts of `parts` from reserved to used. Counters are locked last, because new calls wait for
 * them.
 */
const countCommits = `locked as (
     select c.id, p.held, p.used from parts p join usage_counters c on c.id = p.id order by c.id for update of c
   ), counted as (
     update usage_counters c set held = c.held - l.held, used = c.used + l.used from locked l where c.id = l.id
     returning c.id, c.limit_id, c.subject_id, c.ends_at, c.topped_up, c.used, c.used - l.used as used_before
   ), ${reachedLimits}`

/**
 * Turns reservations into usage records, each once, and reserved amounts into used ones; if the price turns out to be
 * unknown, the whole reserved amount counts as used. Locks are taken in one order: reservations, tokens, people,
 * counters. Selects the limits that are reached, and the calls without a reservation. Values: the columns of commits,
 * and their number.
 */
export const commitUsage = statement<{ reached: ReachedLimit[] | null; missing: number[] | null }>(
  'commit-usage',
  `with ${commitRows}, mine as (
     select g.* from given g join usage_holds h on ${lookUp('h.id', 'g.id')}
      where not g.expired_only or h.lease_until < now() order by g.id for update of h
   ), ended as (
     delete from usage_holds h using mine m where ${lookUp('h.id', 'm.id')}
     returning h.user_id, h.token_id, h.room_id, h.app_id, h.context, h.provider, h.model, h.assistant, h.request_id, h.price_id, h.counters, h.amounts,
               h.measures, m.*
   ), tokens as (
     select t.id, t.user_id from ${AccessToken.tableName} t where t.id = any(array(select token_id from ended)) order by t.id for key share
   ), people as (
     select u.id from ${User.tableName} u
      where u.id = any(array(select coalesce(t.user_id, e.user_id) from ended e left join tokens t on t.id = e.token_id)) order by u.id for key share
   ), recorded as (
     insert into usage_records (id, user_id, token_id, room_id, app_id, context, provider, model, assistant, request_id, input_tokens, output_tokens,
                                cached_tokens, cache_write_tokens, reasoning_tokens, web_searches, web_fetches, estimated, cost_micros, currency, price_id,
                                duration_ms, first_piece_ms, outcome, created_at)
     select e.id, u.id, t.id, e.room_id, e.app_id, e.context, e.provider, e.model, e.assistant, e.request_id, e.input, e.output, e.cached, e.cache_write,
            e.reasoning, e.searches, e.fetches, e.estimated, e.cost, e.currency, e.price_id, e.duration, e.first_piece, e.outcome, now()
       from ended e left join people u on u.id = e.user_id left join tokens t on t.id = e.token_id
     returning id
   ), parts as (
     select a.id, sum(a.amount)::bigint as held,
            sum(case a.measure when 'tokens' then e.input::bigint + e.output when 'cost' then coalesce(e.cost, a.amount)
                else a.amount end)::bigint as used
       from ended e cross join lateral unnest(e.counters, e.amounts, e.measures) as a(id, amount, measure)
      where e.id = any(array(select id from recorded)) group by a.id ${expectFew('1000 * $16')}
   ), ${countCommits}
   select (select limits from reached) as reached,
          (select json_agg(id) from given where not expired_only and id not in (select id from ended)) as missing`,
)

/**
 * Commits calls that another process has recorded as lost: corrects their records once, and adds the difference to the
 * used amounts. Also selects the calls without a record. Values: those of `commitUsage`, then pairs of a call and a
 * counter, and their number.
 */
export const commitLost = statement<{ reached: ReachedLimit[] | null; unknown: number[] | null }>(
  'commit-lost-usage',
  `with ${commitRows}, lost as (
     select g.*, r.input_tokens::bigint + r.output_tokens as old_tokens, r.cost_micros as old_cost
       from given g join usage_records r on ${lookUp('r.id', 'g.id')}
      where r.outcome = 'lost' order by r.id for update of r
   ), corrected as (
     update usage_records r
        set outcome = l.outcome, input_tokens = l.input, output_tokens = l.output, cached_tokens = l.cached, cache_write_tokens = l.cache_write,
            reasoning_tokens = l.reasoning, web_searches = l.searches, web_fetches = l.fetches, estimated = l.estimated,
            cost_micros = l.cost, currency = l.currency, duration_ms = l.duration,
            first_piece_ms = l.first_piece
       from lost l where ${lookUp('r.id', 'l.id')}
   ), parts as (
     select a.counter as id, 0 as held,
            sum(case when u.unit = 'tokens' then l.input::bigint + l.output - l.old_tokens
                     when u.currency = l.currency then coalesce(l.cost - l.old_cost, 0) else 0 end)::bigint as used
       from (select * from unnest($17::bigint[], $18::bigint[]) as a(id, counter) ${expectFew('$19')}) a join lost l on l.id = a.id
       join usage_counters c on ${lookUp('c.id', 'a.counter')} join usage_limits u on u.id = c.limit_id group by a.counter
   ), ${countCommits}
   select (select limits from reached) as reached,
          (select json_agg(id) from given where not exists (select from usage_records r where ${lookUp('r.id', 'given.id')})) as unknown`,
)
