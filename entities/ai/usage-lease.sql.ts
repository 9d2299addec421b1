import { expectFew, lookUp, statement } from '../sql/statement.ts'
import type { UsageCommit } from './usage-commit.sql.ts'

/**
 * Renews the leases of calls in progress with their usage so far, and releases amounts that they can no longer use.
 * Rows are locked in the usual order. Values: ids, the usage of each, the largest possible tokens and cost, the lease
 * in milliseconds, and the number of calls.
 */
export const renewLeases = statement<never>(
  'renew-leases',
  `with live as (
     select * from unnest($1::bigint[], $2::int[], $3::int[], $4::int[], $5::int[], $6::int[], $7::int[], $8::int[],
                          $9::bigint[], $10::text[], $11::bigint[], $12::bigint[])
              as n(id, input, output, cached, cache_write, reasoning, searches, fetches, cost, currency, most_tokens, most_cost) ${expectFew('$14')}
   ), renewed as (
     select n.*, h.counters, h.amounts, h.measures from live n join usage_holds h on ${lookUp('h.id', 'n.id')} order by n.id for update of h
   ), kept as (
     select r.*, k.amounts as remaining from renewed r cross join lateral (
       select array_agg(least(a.amount, case a.measure when 'tokens' then r.most_tokens when 'cost' then r.most_cost end) order by a.n) as amounts
         from unnest(r.counters, r.amounts, r.measures) with ordinality as a(counter, amount, measure, n)) k
   ), freed as (
     select a.counter, sum(a.amount - a.remaining) as amount
       from kept cross join lateral unnest(counters, amounts, remaining) as a(counter, amount, remaining)
      where a.remaining < a.amount group by a.counter ${expectFew('1000 * $14')}
   ), locked as (
     select c.id, f.amount from freed f join usage_counters c on c.id = f.counter order by c.id for update of c
   ), counted as (
     update usage_counters c set held = c.held - l.amount from locked l where c.id = l.id
   )
   update usage_holds h
      set lease_until = now() + $13::int * interval '1 ms', input_tokens = r.input, output_tokens = r.output,
          cached_tokens = r.cached, cache_write_tokens = r.cache_write, reasoning_tokens = r.reasoning, web_searches = r.searches,
          web_fetches = r.fetches, cost_micros = r.cost, currency = r.currency,
          amounts = coalesce(r.remaining, h.amounts)
     from kept r where ${lookUp('h.id', 'r.id')}`,
)

/** Page size of `listExpiredReservations`. */
export const EXPIRED_PAGE = 500

/** Lists calls whose lease has expired, with their last known usage. Values: the id after which to continue. */
export const listExpiredReservations = statement<
  Omit<UsageCommit, 'outcome' | 'estimated' | 'firstPieceMs' | 'expiredOnly'> & { counters: number[] }
>(
  'list-expired-reservations',
  `select id::float8 as id, input_tokens as "inputTokens", output_tokens as "outputTokens", cached_tokens as "cachedTokens",
          cache_write_tokens as "cacheWriteTokens", reasoning_tokens as "reasoningTokens", web_searches as "webSearches", web_fetches as "webFetches", cost_micros::float8 as "costMicros",
          currency, to_json(counters) as counters, (extract(epoch from lease_until - created_at) * 1000)::int as "durationMs"
     from usage_holds where lease_until < now() and ticket is null and id > $1::bigint order by id limit ${EXPIRED_PAGE}`,
)
