import { catalogueVersion } from '../catalogue/catalogue-version.sql.ts'
import { letsIn, ownerVersion, tokensWithOwners } from '../identity/token-owner.sql.ts'
import { expectFew, isoTime, statement } from '../sql/statement.ts'
import type { LimitPeriod, LimitSubject, LimitUnit } from './usage-limit.ts'

export const currentVersion = `coalesce((select version from usage_limit_versions), 0)`

/** The calls as JSON, each with its counters. */
export const rowsOfCalls = (calls: string) => `jsonb_to_recordset(${calls}::jsonb) as c(
         n int, "userId" int, "tokenId" int, "roomId" int, "appId" int, context text, provider text, model text,
         "requestId" text, "inputTokens" int, "costMicros" bigint, currency text, "priceId" int, counters bigint[], amounts bigint[], measures text[])`

export const insertHolds = (calls: string, isGranted: string) => `numbered as (
     select nextval('usage_records_id_seq') as id, c.* from ${rowsOfCalls(calls)}
      where (select ${isGranted} from verdict)
   ), held as (
     insert into usage_holds (id, lease_until, user_id, token_id, room_id, app_id, context, provider, model, request_id, input_tokens, cost_micros,
                              currency, price_id, counters, amounts, measures)
     select id, now() + $1::int * interval '1 ms', "userId", "tokenId", "roomId", "appId", context, provider, model, "requestId", "inputTokens",
            "costMicros", currency, "priceId", counters, amounts, measures from numbered
   )`

export const ids = `(select json_agg(id order by n) from numbered) as ids`

/** Counters with the sum that is asked of each, and the cap of its limit. */
export const asked = `asked as (
     select * from unnest($3::bigint[], $4::bigint[], $5::bigint[]) as a(id, amount, cap) ${expectFew('$7')}
   )`

export interface HoldResult {
  /** Of the holds, in the order of the calls; null where none was made. */
  ids: number[] | null
  /** Whether the limits have changed since the version that was given, or a period has ended. */
  stale: boolean
  /** Whether the catalogue has, or a caller: the models may be other ones, or not to be called any more. */
  outdated: boolean
}

export const catalogueChanged = (version: string) => `coalesce(${catalogueVersion} <> ${version}::bigint, false)`

/** Callers by tokens who were seen in some version: whether the person is another one by now, or the token lets in no more. */
const callersChanged = (calls: string) => `exists (
              select from jsonb_to_recordset(${calls}::jsonb) as c("tokenId" int, "callerVersion" text)
                left join (${tokensWithOwners}) on t.id = c."tokenId" and ${letsIn}
               where c."callerVersion" is not null and c."callerVersion" is distinct from ${ownerVersion})`

/** Whether the catalogue has changed since that version, or a caller. */
export const isOutdated = (version: string, calls: string) =>
  `(${catalogueChanged(version)} or ${callersChanged(calls)})`

/**
 * Holds for calls to which no limit applies, as long as that is so. Values: lease in milliseconds, version of the limits,
 * calls, version of the catalogue, null where it may be any.
 */
export const holdUnlimited = statement<HoldResult>(
  'hold-unlimited',
  `with verdict as (
     select ${currentVersion} <> $2::int as stale, ${isOutdated('$4', '$3')} as outdated
   ), ${insertHolds('$3', 'not (stale or outdated)')}
   select ${ids}, stale, outdated from verdict`,
)

export interface TogetherResult extends HoldResult {
  /** Counters that have no room. */
  misfits: number[] | null
  /** What each counter has left, in the order of their ids. */
  rooms: number[] | null
  /** What all stripes have left together, in the same order; null or absent where it was not to be told. */
  wholes?: (number | null)[] | null
}

/**
 * Holds for many calls at once, or for none of them, by one stripe of each limit. Rows are locked in one order, so that calls
 * never wait in a circle. Values: lease in milliseconds, version of the limits, counters, amounts (null where no price is
 * known) and caps, calls, how many counters, version of the catalogue.
 */
export const holdTogether = statement<TogetherResult>(
  'hold-together',
  `with ${asked}, locked as (
     select c.id, a.amount, c.share - c.used - c.held - a.amount as room, c.cap = a.cap and c.used + c.held + a.amount <= c.share as fits
       from asked a join usage_counters c on c.id = a.id
      where c.ends_at > now() order by c.id for update of c
   ), verdict as (
     select ${currentVersion} <> $2::int or count(*) < $7::int as stale, ${isOutdated('$8', '$6')} as outdated, array_agg(id) filter (where fits is not true) as misfits,
            json_agg(room order by id) as rooms
       from locked
   ), counted as (
     update usage_counters c set held = c.held + l.amount
       from locked l where c.id = l.id and (select not (stale or outdated) and misfits is null from verdict)
   ), ${insertHolds('$6', 'not (stale or outdated) and misfits is null')}
   select ${ids}, stale, outdated, to_json(misfits) as misfits, rooms from verdict`,
)

/** A limit that a call asks a part of, as it stood when the call was judged. */
export interface AskedLimit {
  /** The id of the counter that stands for it. */
  counter: number
  name: string
  subject: LimitSubject
  unit: LimitUnit
  period: LimitPeriod
  currency: string | null
  /** In requests, tokens or millionths of the currency, as all that follows; with what was topped up. */
  cap: number
  /** The cap of the next period: without what was topped up. */
  nextCap: number
  used: number
  held: number
  mode: 'enforce' | 'observe'
  /** What the call asks for; null where its price or its most is unknown. */
  amount: number | null
  fits: boolean
  /** When the period ends, in RFC 3339. */
  resetsAt: string
  /** The length of the period. */
  windowSeconds: number
}

/** All stripes of the limits of counters 'own', locked in one order, and each limit judged as a whole. */
export const judgedExactly = `locked as (
     select c.*, o.id as own_id, o.amount, o.own_held
       from own o join usage_counters c
         on c.limit_id = o.limit_id and c.subject_id = o.subject_id and c.starts_at = o.starts_at
      order by c.id for update of c
   ), sums as (
     select own_id, limit_id, amount, own_held, max(starts_at) as starts_at, max(ends_at) as ends_at, sum(used) as used, sum(held) as held,
            sum(topped_up) as topped_up, max(share - used - held) filter (where id = own_id) as room, max(cap) as shared_cap
       from locked group by own_id, limit_id, amount, own_held
   ), judged as (
     select s.*, l.name, l.subject, l.unit, l.period, l.currency, l.stripes, l.mode, l.cap, l.cap + s.topped_up as full_cap,
            coalesce(s.used + s.held + s.amount <= l.cap + s.topped_up, false) as fits,
            coalesce(s.amount > s.room, true) or l.cap <> s.shared_cap as must_share
       from sums s join usage_limits l on l.id = s.limit_id
   )`

/**
 * Takes what fits, shares what is free anew and counts what is refused to a single call. Where nobody knows an amount, which
 * only a limit that observes lets through, nothing is held, and what the call held before is given back.
 */
export const countedExactly = (isSingle: string) => `counted as (
     update usage_counters c
        set held = c.held + n.taken, refused = c.refused + n.refused, cap = case when n.shares then j.cap else c.cap end,
            share = case when n.shares then c.used + c.held + n.taken + f.free / j.stripes + (c.stripe < f.free % j.stripes)::int
                    else c.share end
       from judged j, verdict v, locked l
      cross join lateral (
        select case when l.id = j.own_id and v.granted then coalesce(j.amount, -j.own_held) else 0 end as taken,
               (l.id = j.own_id and not j.fits and ${isSingle})::int as refused,
               v.granted and j.must_share as shares) n
      cross join lateral (
        select greatest(0, j.full_cap - j.used - j.held - coalesce(j.amount, -j.own_held))::bigint as free) f
      where c.id = l.id and l.own_id = j.own_id and not (v.stale or v.outdated) and (n.taken <> 0 or n.refused > 0 or n.shares)
   )`

export const judgedLimits = `(select json_agg(json_build_object('counter', own_id, 'name', name, 'subject', subject, 'unit', unit, 'period', period,
                    'currency', currency, 'cap', full_cap, 'nextCap', cap, 'used', used, 'held', held - own_held, 'amount', amount + own_held, 'fits', fits, 'mode', mode,
                    'resetsAt', ${isoTime('ends_at')}, 'windowSeconds', extract(epoch from ends_at - starts_at)::int) order by limit_id) from judged)`

const isSingle = 'jsonb_array_length($6::jsonb) = 1'

export type ExactResult = HoldResult & { limits: AskedLimit[] | null }

/**
 * Judges by all stripes together, and shares what is free anew: exact where a cap is near or was changed. A limit that only
 * observes lets a single call through. Values: as of `holdTogether`.
 */
export const holdExactly = statement<ExactResult>(
  'hold-exactly',
  `with ${asked}, own as (
     select a.id, a.amount, 0 as own_held, c.limit_id, c.subject_id, c.starts_at from asked a join usage_counters c on c.id = a.id
      where c.ends_at > now()
   ), ${judgedExactly}, verdict as (
     select ${currentVersion} <> $2::int or count(*) < (select count(*) from asked) as stale, ${isOutdated('$8', '$6')} as outdated,
            coalesce(bool_and(fits or mode = 'observe' and ${isSingle}), true) as granted
       from judged
   ), ${countedExactly(isSingle)}, ${insertHolds('$6', 'not (stale or outdated) and granted')}
   select ${ids}, stale, outdated, ${judgedLimits} as limits from verdict`,
)

/**
 * Makes a hold greater, or leaves it as it is where that does not fit. A call counts for the period in which it began.
 * Values: its id, and the tokens and the cost that are held in all.
 */
export const extendHold = statement<{ isHeld: boolean; limits: AskedLimit[] | null }>(
  'extend-hold',
  `with mine as (
     select counters, amounts, measures from usage_holds where id = $1::bigint for update
   ), parts as (
     select a.counter, a.n, a.amount,
            greatest(a.amount, case a.measure when 'tokens' then $2::bigint when 'cost' then $3::bigint end) as wanted
       from mine cross join lateral unnest(counters, amounts, measures) with ordinality as a(counter, amount, measure, n)
   ), own as (
     select c.id, sum(wanted - amount) as amount, sum(amount) as own_held, c.limit_id, c.subject_id, c.starts_at
       from parts p join usage_counters c on c.id = p.counter where wanted > amount group by c.id
   ), ${judgedExactly}, verdict as (
     select false as stale, false as outdated, coalesce(bool_and(fits or mode = 'observe'), true) as granted from judged
   ), ${countedExactly('true')}, held as (
     update usage_holds set amounts = (select array_agg(wanted order by n) from parts)
      where id = $1::bigint and (select granted from verdict) returning id
   )
   select exists (select from held) as "isHeld", ${judgedLimits} as limits`,
)
