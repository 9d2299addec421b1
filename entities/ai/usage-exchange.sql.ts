import { expectFew, statement } from '../sql/statement.ts'
import {
  asked,
  catalogueChanged,
  countedExactly,
  currentVersion,
  type ExactResult,
  type HoldResult,
  judgedExactly,
  judgedLimits,
  rowsOfCalls,
} from './usage-hold.sql.ts'

const becomesThatOfC = `lease_until = now() + $1::int * interval '1 ms', context = c.context, provider = c.provider, model = c.model,
            input_tokens = c."inputTokens", cost_micros = c."costMicros", currency = c.currency, price_id = c."priceId",
            counters = c.counters, amounts = c.amounts, measures = c.measures`

/** Of each call its hold, or null where that is gone. */
type ExchangeResult = Omit<HoldResult, 'ids'> & { ids: (number | null)[] | null }

/**
 * Makes holds that hold no part of a limit those of calls to which none applies, as long as that is so. Values: lease in
 * milliseconds, version of the limits, calls, version of the catalogue, the holds in the order of the calls, how many.
 */
export const exchangeUnlimited = statement<ExchangeResult>(
  'exchange-unlimited',
  `with verdict as (
     select ${currentVersion} <> $2::int as stale, ${catalogueChanged('$4')} as outdated
   ), mine as (
     select * from ${rowsOfCalls('$3')} ${expectFew('$6')}
   ), exchanged as (
     update usage_holds h set ${becomesThatOfC}
       from mine c
      where h.id = ($5::bigint[])[c.n + 1] and h.counters = '{}' and (select not (stale or outdated) from verdict) returning h.id
   )
   select case when not (stale or outdated) then (
            select json_agg(e.id order by a.n) from unnest($5::bigint[]) with ordinality as a(id, n) left join exchanged e using (id)) end as ids,
          stale, outdated
     from verdict`,
)

const isAsked = 'own_id in (select id from asked)'

/**
 * Makes the hold of a call that of another one, judged as `holdExactly` judges, with what was held given back; or leaves it as
 * it is, where that does not fit. Of limits that apply to both calls the counters must be the same. Values: as of
 * `holdTogether`, and the hold.
 */
export const exchangeHold = statement<ExactResult>(
  'exchange-hold',
  `with ${asked}, mine as (
     select counters, amounts from usage_holds where id = $9::bigint for update
   ), before as (
     select a.id, sum(a.amount) as amount from mine cross join lateral unnest(counters, amounts) as a(id, amount) group by a.id
   ), own as (
     select c.id, case when a.id is null then 0 else a.amount end - coalesce(b.amount, 0) as amount, coalesce(b.amount, 0) as own_held,
            c.limit_id, c.subject_id, c.starts_at
       from asked a full join before b on b.id = a.id join usage_counters c on c.id = coalesce(a.id, b.id)
      where a.id is null or c.ends_at > now()
   ), ${judgedExactly}, verdict as (
     select ${currentVersion} <> $2::int or count(*) filter (where ${isAsked}) < (select count(*) from asked) as stale,
            ${catalogueChanged('$8')} as outdated,
            exists (select from mine) and coalesce(bool_and(fits or mode = 'observe') filter (where ${isAsked}), true) as granted
       from judged
   ), ${countedExactly(`j.${isAsked}`)}, exchanged as (
     update usage_holds h
        set ${becomesThatOfC}
       from ${rowsOfCalls('$6')}
      where h.id = $9::bigint and (select granted and not (stale or outdated) from verdict) returning h.id
   )
   select (select json_agg(id) from exchanged) as ids, stale, outdated, ${judgedLimits} as limits from verdict`,
)
