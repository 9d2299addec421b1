import { statement } from '../sql/statement.ts'
import { givenSettlements } from './usage-settlement.sql.ts'

/**
 * Puts right what another process settled as lost of calls that went on: their records, each once, and by the difference what
 * is used. Selects the counters that have more than their share now, and the calls of which there is no record. Values: the
 * columns of settlements and how many there are, the cost that each held, then holds and beside each a counter of it.
 */
export const correctLost = statement<{ overdrawn: number[] | null; unknown: number[] | null }>(
  'correct-lost',
  `with ${givenSettlements}, lost as (
     select g.*, held.cost as held_cost, r.input_tokens::bigint + r.output_tokens as old_tokens, r.cost_micros as old_cost,
            coalesce(r.currency, g.currency) as any_currency
       from given g join unnest($1::bigint[], $16::bigint[]) as held(id, cost) on held.id = g.hold_id
       join usage_records r on r.id = g.hold_id
      where r.outcome = 'lost' order by r.id for update of r
   ), corrected as (
     update usage_records r
        set outcome = l.outcome, input_tokens = l.input, output_tokens = l.output, cached_tokens = l.cached, cache_write_tokens = l.cache_write,
            reasoning_tokens = l.reasoning, web_searches = l.searches, web_fetches = l.fetches, estimated = l.estimated,
            cost_micros = l.cost, currency = l.currency, duration_ms = l.duration
       from lost l where r.id = l.hold_id
   ), parts as (
     select c.id, sum(case when u.unit = 'tokens' then l.input::bigint + l.output - l.old_tokens
                           when u.currency = l.any_currency then coalesce(l.cost, l.held_cost, l.old_cost) - coalesce(l.old_cost, l.held_cost, l.cost)
                      end)::bigint as grown
       from unnest($17::bigint[], $18::bigint[]) as a(hold_id, counter) join lost l on l.hold_id = a.hold_id
       join usage_counters c on c.id = a.counter join usage_limits u on u.id = c.limit_id group by c.id
   ), locked as (
     select c.id, p.grown from parts p join usage_counters c on c.id = p.id where p.grown <> 0 order by c.id for update of c
   ), counted as (
     update usage_counters c set used = c.used + l.grown from locked l where c.id = l.id
     returning c.id, l.grown > 0 and c.used + c.held > c.share as is_overdrawn
   )
   select (select json_agg(id) from counted where is_overdrawn) as overdrawn,
          (select json_agg(hold_id) from given where not exists (select from usage_records r where r.id = hold_id)) as unknown`,
)
