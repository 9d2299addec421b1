import { expectFew, lookUp, statement } from '../sql/statement.ts'
import type { Outcome } from './usage-record.ts'

/** How a call ended, and what it took. */
export interface Settlement {
  id: number
  outcome: Outcome
  inputTokens: number
  outputTokens: number
  cachedTokens: number
  cacheWriteTokens: number
  reasoningTokens: number
  webSearches: number
  webFetches: number
  /** Whether a count is our own and not the provider's. */
  estimated: boolean
  /** Millionths of the currency; null where no price is known. */
  costMicros: number | null
  currency: string | null
  durationMs: number
  /** Settles only where the process that made the call has not renewed its lease. */
  expiredOnly: boolean
}

/** The columns of settlements, and how many there are. */
export const givenSettlements = `given as (
     select * from unnest($1::bigint[], $2::text[], $3::int[], $4::int[], $5::int[], $6::int[], $7::int[], $8::int[],
                          $9::int[], $10::boolean[], $11::bigint[], $12::text[], $13::int[], $14::boolean[])
              as g(hold_id, outcome, input, output, cached, cache_write, reasoning, searches, fetches, estimated, cost, currency, duration, expired_only)
      ${expectFew('$15')}
   )`

/**
 * Turns holds into usage records, each once, and what was held into what was used; where the price of what a call took turns
 * out to be unknown, all that it held. Tokens are locked first and then people, as where somebody is removed; counters, for
 * which calls that begin wait, come last. Each CTE asks for the one before it, so that this is the order. Selects the counters
 * of which calls took more than they held, and more than the share, and the calls whose holds are gone. Values: the columns of
 * settlements, and how many there are.
 */
export const settle = statement<{ overdrawn: number[] | null; unheld: number[] | null }>(
  'settle',
  `with ${givenSettlements}, mine as (
     select g.* from given g join usage_holds h on ${lookUp('h.id', 'g.hold_id')}
      where not g.expired_only or h.lease_until < now() order by g.hold_id for update of h
   ), ended as (
     delete from usage_holds h using mine m where ${lookUp('h.id', 'm.hold_id')}
     returning h.id, h.user_id, h.token_id, h.room_id, h.app_id, h.context, h.provider, h.model, h.request_id, h.price_id, h.counters, h.amounts,
               h.measures, m.*
   ), parts as (
     select a.id, sum(a.amount)::bigint as held,
            sum(case a.measure when 'tokens' then e.input::bigint + e.output when 'cost' then coalesce(e.cost, a.amount)
                else a.amount end)::bigint as used
       from ended e cross join lateral unnest(e.counters, e.amounts, e.measures) as a(id, amount, measure)
      group by a.id ${expectFew('1000 * $15')}
   ), tokens as (
     select t.id from access_tokens t where t.id = any(array(select token_id from ended)) order by t.id for key share
   ), people as (
     select u.id from users u where u.id = any(array(select user_id from ended)) and (select count(*) from tokens) >= 0 order by u.id for key share
   ), recorded as (
     insert into usage_records (id, user_id, token_id, room_id, app_id, context, provider, model, request_id, input_tokens, output_tokens,
                                cached_tokens, cache_write_tokens, reasoning_tokens, web_searches, web_fetches, estimated, cost_micros, currency, price_id,
                                duration_ms, outcome, created_at)
     select e.id, u.id, t.id, e.room_id, e.app_id, e.context, e.provider, e.model, e.request_id, e.input, e.output, e.cached, e.cache_write,
            e.reasoning, e.searches, e.fetches, e.estimated, e.cost, e.currency, e.price_id, e.duration, e.outcome, now()
       from ended e left join people u on u.id = e.user_id left join tokens t on t.id = e.token_id
     returning id
   ), locked as (
     select c.id, p.held, p.used from parts p join usage_counters c on c.id = p.id
      where (select count(*) from recorded) > 0 order by c.id for update of c
   ), counted as (
     update usage_counters c set held = c.held - l.held, used = c.used + l.used from locked l where c.id = l.id
     returning c.id, l.used > l.held and c.used + c.held > c.share as is_overdrawn
   )
   select (select json_agg(id) from counted where is_overdrawn) as overdrawn,
          (select json_agg(hold_id) from given where not expired_only and hold_id not in (select id from ended)) as unheld`,
)

/**
 * Ends holds for calls that were never made: nothing is used, and no record is left. Values: an object that says by the ids of
 * requests how many milliseconds ago each was held for at the latest, and holds that stay.
 */
export const releaseUnmade = statement<never>(
  'release-unmade',
  `with unmade as (
     select id from usage_holds
      where created_at <= now() - ($1::jsonb ->> request_id)::float8 * interval '1 ms' and id <> all($2::bigint[])
      order by id for update
   ), ended as (
     delete from usage_holds where id = any(array(select id from unmade)) returning counters, amounts
   ), parts as (
     select a.id, sum(a.amount) as held from ended e cross join lateral unnest(e.counters, e.amounts) as a(id, amount) group by a.id
   ), locked as (
     select c.id, p.held from parts p join usage_counters c on c.id = p.id order by c.id for update of c
   )
   update usage_counters c set held = c.held - l.held from locked l where c.id = l.id`,
)
