import { catalogueVersion } from '../catalogue/catalogue-version.sql.ts'
import { epochMs, expectFew, lookUp, statement } from '../sql/statement.ts'
import type { LimitPeriod, LimitSubject, LimitUnit } from './usage-limit.ts'

/** A limit that a reservation needs, with its state at that time. */
export interface RequestedLimit {
  counter: number
  name: string
  subject: LimitSubject
  unit: LimitUnit
  period: LimitPeriod
  currency: string | null
  /** In requests, tokens or millionths of the currency, like all that follows; includes top-ups. */
  cap: number
  /** The cap of the next period, which excludes top-ups. */
  nextCap: number
  used: number
  held: number
  mode: 'enforce' | 'observe'
  /** Requested amount; null if a price or the maximum is unknown. */
  amount: number | null
  /** End of the period, in milliseconds since 1970. */
  resetsAt: number
  /** Length of the period. */
  windowSeconds: number
}

/** SQL for the limits `l` of counters `j` of a CTE `judged`. */
export const requestedLimits = `(select coalesce(json_agg(json_build_object('counter', j.id, 'name', l.name, 'subject', l.subject, 'unit', l.unit,
          'period', l.period, 'currency', l.currency, 'cap', l.cap + j.topped_up, 'nextCap', l.cap, 'used', j.used, 'held', j.held,
          'mode', l.mode, 'amount', j.amount, 'resetsAt', ${epochMs('j.ends_at')},
          'windowSeconds', extract(epoch from j.ends_at - j.starts_at)::int) order by l.id), '[]')
     from judged j join usage_limits l on l.id = j.limit_id)`

/** Allocates ids of reservations, which the process then knows before it inserts them. Values: how many. */
export const nextReservationIds = statement<{ id: number }>(
  'next-reservation-ids',
  `select nextval('usage_records_id_seq')::float8 as id from generate_series(1, $1::int)`,
)

interface ReserveResult {
  isGranted: boolean
  /** True if the limits have changed since the given version, or a period has ended. */
  isStale: boolean
  /** Calls with an outdated model, which are not reserved. */
  outdated: number[] | null
  limits: RequestedLimit[]
}

interface ReserveParts {
  /** CTEs with released amounts. */
  returned?: string
  /** A CTE that deletes a replaced reservation. */
  ended?: string
  /** A condition on the calls that are reserved. */
  isWanted?: string
}

const nothingReturned =
  'returned as not materialized (select null::bigint as counter, null::numeric as amount where false)'

/** Builds a statement that reserves. */
const writeReserveStatement = ({
  returned = nothingReturned,
  ended = '',
  isWanted = 'true',
}: ReserveParts) => `with calls as (
     select * from jsonb_to_recordset($3::jsonb) as c(
              id bigint, catalogue bigint, "userId" int, "tokenId" int, "roomId" int, "appId" int, context text,
              provider text, model text, assistant text, "requestId" text, "inputTokens" int, "costMicros" bigint, currency text, "priceId" int,
              counters bigint[], amounts bigint[], measures text[], ticket uuid)
   ), known as (
     select * from calls c
      where c.catalogue is null or c.catalogue = ${catalogueVersion}
   ), current as (
     select * from known where ${isWanted}
   ), parts as (
     select a.counter, a.amount, sum(a.amount) over (partition by a.counter order by c.id) as running
       from current c cross join lateral unnest(c.counters, c.amounts) as a(counter, amount)
   ), ${returned}, locked as (
     select id, limit_id, starts_at, ends_at, used, held, topped_up from usage_counters
      where id = any(array(select counter from parts) || array(select counter from returned)) order by id for update
   ), judged as (
     select c.id, c.limit_id, c.starts_at, c.ends_at, c.topped_up, c.used, c.held - coalesce(r.amount, 0) as held,
            coalesce(r.amount, 0) as returned, coalesce(sum(p.amount), 0) as amount,
            count(p.counter) filter (where p.amount is null
              or c.used + c.held - coalesce(r.amount, 0) + p.running > l.cap + c.topped_up) as misfits, l.mode = 'observe' as observes
       from locked c join usage_limits l on l.id = c.limit_id
       left join returned r on r.counter = c.id left join parts p on p.counter = c.id
      group by c.id, c.limit_id, c.starts_at, c.ends_at, c.topped_up, c.used, c.held, r.amount, l.id
   ), verdict as (
     select coalesce((select version from usage_limit_versions), 0) <> $2::int
              or exists (select from parts where counter not in (select id from locked where ends_at > now())) as stale,
            not exists (select from judged where misfits > 0 and not observes) as granted
   ), counted as (
     update usage_counters c set held = c.held - j.returned + j.amount, refused = c.refused + j.misfits
       from judged j where c.id = j.id and (select granted and not stale from verdict)
   ), reserved as (
     insert into usage_holds (id, lease_until, user_id, token_id, room_id, app_id, context, provider, model, assistant, request_id, input_tokens,
                              cost_micros, currency, price_id, counters, amounts, measures, ticket)
     select id, now() + $1::int * interval '1 ms', "userId", "tokenId", "roomId", "appId", context, provider, model, assistant, "requestId",
            "inputTokens", "costMicros", currency, "priceId", counters, array_replace(amounts, null, 0), measures, ticket
       from current where (select granted and not stale from verdict)
   )${ended}
   select granted as "isGranted", stale as "isStale", ${requestedLimits} as limits,
          (select json_agg(id) from calls where id not in (select id from known)) as outdated
     from verdict`

/**
 * Reserves for all given calls or for none: locks the counters in the order of their ids, compares, and inserts. A
 * limit that only observes refuses nothing, but counts the refusals. Values: lease in milliseconds, version of the
 * limits, calls.
 */
export const reserveUsage = statement<ReserveResult>('reserve-usage', writeReserveStatement({}))

/** Reserves like `reserveUsage`, but for none of the calls if the model of one is outdated. Values: the same. */
export const reserveTogether = statement<ReserveResult>(
  'reserve-together',
  writeReserveStatement({ isWanted: 'not exists (select from calls where id not in (select id from known))' }),
)

/** Builds a statement that releases the reservations with this condition in favour of a call. */
const writeReplaceStatement = (condition: string) =>
  writeReserveStatement({
    returned: `replaced as (
     select id, counters, amounts from usage_holds where ${condition} and exists (select from current) for update
   ), returned as (
     select a.counter, sum(a.amount) as amount from replaced cross join lateral unnest(counters, amounts) as a(counter, amount) group by 1
   )`,
    ended: `, ended as (
     delete from usage_holds where id = $4::bigint and exists (select from replaced) and (select granted and not stale from verdict)
   )`,
  })

/**
 * Reserves for one call, and releases the reservation that it replaces. Values: those of `reserveUsage`, then the
 * replaced id.
 */
export const replaceReservation = statement<ReserveResult>(
  'replace-reservation',
  writeReplaceStatement('id = $4::bigint'),
)

/**
 * Reserves for one call, in place of what its person has reserved for it, if that is still there. Values: those of
 * `reserveUsage`, then the reserved id and the ticket.
 */
export const claimReservation = statement<ReserveResult>(
  'claim-reservation',
  writeReplaceStatement(
    'id = $4::bigint and ticket = $5::uuid and user_id in (select "userId" from calls) and lease_until > now()',
  ),
)

/**
 * Extends a reservation, or leaves it unchanged if a limit has too little left. A call counts for the period in which
 * it began. Values: its id, and the totals of tokens and cost.
 */
export const extendReservation = statement<{ isFound: boolean; isGranted: boolean; limits: RequestedLimit[] }>(
  'extend-reservation',
  `with mine as (
     select counters, amounts, measures from usage_holds where id = $1::bigint for update
   ), parts as (
     select a.counter, a.n, a.amount,
            greatest(a.amount, case a.measure when 'tokens' then $2::bigint when 'cost' then $3::bigint end) as wanted
       from mine cross join lateral unnest(counters, amounts, measures) with ordinality as a(counter, amount, measure, n)
   ), locked as (
     select * from usage_counters where id = any(array(select counter from parts where wanted > amount)) order by id for update
   ), judged as (
     select c.id, c.limit_id, c.starts_at, c.ends_at, c.topped_up, c.used, c.held - p.amount as held, p.amount as before, p.wanted as amount,
            c.used + c.held - p.amount + p.wanted <= l.cap + c.topped_up as fits, l.mode = 'observe' as observes
       from locked c join parts p on p.counter = c.id join usage_limits l on l.id = c.limit_id
   ), verdict as (
     select not exists (select from judged where not fits and not observes) as granted
   ), counted as (
     update usage_counters c
        set held = c.held + case when granted then j.amount - j.before else 0 end, refused = c.refused + (not j.fits)::int
       from judged j, verdict where c.id = j.id
   ), extended as (
     update usage_holds set amounts = (select array_agg(wanted order by n) from parts)
      where id = $1::bigint and (select granted from verdict) and exists (select from parts)
   )
   select exists (select from mine) as "isFound", granted as "isGranted", ${requestedLimits} as limits from verdict`,
)

/** Lists what is reserved for calls that were not made: those of one person, or all whose time is over. Values: the person or null. */
export const listUnclaimed = statement<{ id: number }>(
  'list-unclaimed',
  `select id::float8 as id from usage_holds
    where ticket is not null and (user_id = $1::int or ($1::int is null and lease_until < now())) limit 1000`,
)

/** Releases reservations of calls that were never made, without a record. Values: ids, and their number. */
export const releaseReservations = statement<never>(
  'release-reservations',
  `with given as (
     select id from unnest($1::bigint[]) as a(id) ${expectFew('$2')}
   ), mine as (
     select g.id from given g join usage_holds h on ${lookUp('h.id', 'g.id')} order by g.id for update of h
   ), ended as (
     delete from usage_holds h using mine m where ${lookUp('h.id', 'm.id')} returning h.counters, h.amounts
   ), parts as (
     select a.id, sum(a.amount) as held from ended cross join lateral unnest(counters, amounts) as a(id, amount)
      group by a.id ${expectFew('1000 * $2')}
   ), locked as (
     select c.id, p.held from parts p join usage_counters c on c.id = p.id order by c.id for update of c
   )
   update usage_counters c set held = c.held - l.held from locked l where c.id = l.id`,
)

interface ReservedSum {
  limit: string
  unit: LimitUnit
  currency: string | null
  /** In requests, tokens or millionths of the currency. */
  amount: number
}

/** Finds the age of the oldest reservation, in seconds; null if there is none. */
export const findReservationAge = statement<{ seconds: number | null }>(
  'find-reservation-age',
  'select extract(epoch from now() - min(created_at))::float8 as seconds from usage_holds',
)

/** Sums the reserved amounts per limit. It starts with the calls, because there are fewer calls than counters. */
export const sumReserved = statement<ReservedSum>(
  'sum-reserved',
  `select l.name as limit, l.unit, l.currency, sum(p.amount)::float8 as amount
     from usage_holds r cross join lateral unnest(r.counters, r.amounts) as p(counter, amount)
     join usage_counters c on ${lookUp('c.id', 'p.counter')} join usage_limits l on l.id = c.limit_id
    group by l.id order by l.name`,
)
