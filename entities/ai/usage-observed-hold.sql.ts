import { expectFew, statement } from '../sql/statement.ts'
import { currentVersion, ids, insertHolds, isOutdated, type TogetherResult } from './usage-hold.sql.ts'

/**
 * Holds as `holdTogether` does where limits only observe, or are to tell what all of their stripes have left. A limit that
 * only observes refuses nothing, and counts what it would have: the calls are looked at one by one only where it would.
 * Values: as of `holdTogether`; of each counter, whether its limit only observes, and whether to tell what is left.
 */
export const holdAndTell = statement<TogetherResult>(
  'hold-and-tell',
  `with asked as (
     select * from unnest($3::bigint[], $4::bigint[], $5::bigint[], $9::boolean[], $10::boolean[]) as a(id, amount, cap, observes, tells) ${expectFew('$7')}
   ), locked as (
     select c.id, c.limit_id, c.subject_id, c.starts_at, c.share - c.used - c.held as room, c.topped_up - c.used - c.held as own,
            a.amount, a.observes, a.tells, a.cap, a.observes or c.cap = a.cap and c.used + c.held + a.amount <= c.share as fits
       from asked a join usage_counters c on c.id = a.id
      where c.ends_at > now() order by c.id for update of c
   ), judged as (
     select l.id, l.room, l.amount, l.observes, l.fits, case when l.tells or l.observes then l.cap + l.own + (
              select coalesce(sum(c.topped_up - c.used - c.held), 0) from usage_counters c
               where c.limit_id = l.limit_id and c.subject_id = l.subject_id and c.starts_at = l.starts_at and c.id <> l.id) end as whole
       from locked l
   ), verdict as (
     select ${currentVersion} <> $2::int or count(*) < $7::int as stale, ${isOutdated('$8', '$6')} as outdated, array_agg(id) filter (where fits is not true) as misfits,
            json_agg(room - amount order by id) as rooms, json_agg(whole - amount order by id) as wholes,
            coalesce(bool_or(amount is null or amount > whole) filter (where observes), false) as is_observed
       from judged
   ), observed as (
     select j.id, sum(p.amount) as known, count(*) filter (where p.unknown or p.running > j.whole) as refused
       from judged j join (
         select a.id, a.amount, a.unknown, sum(a.amount) over (partition by a.id order by c.n) as running
           from jsonb_to_recordset($6::jsonb) as c(n int, counters bigint[], amounts bigint[], unknown boolean[])
          cross join lateral unnest(counters, amounts, unknown) as a(id, amount, unknown)
          where (select is_observed from verdict)) p on p.id = j.id
      where j.observes and (j.amount is null or j.amount > j.whole) group by j.id
   ), counted as (
     update usage_counters c set held = c.held + coalesce(j.amount, o.known, 0), refused = c.refused + coalesce(o.refused, 0)
       from verdict, judged j left join observed o using (id) where c.id = j.id and not (stale or outdated) and misfits is null
   ), ${insertHolds('$6', 'not (stale or outdated) and misfits is null')}
   select ${ids}, stale, outdated, to_json(misfits) as misfits, rooms, wholes from verdict`,
)
