import { isoTime, statement } from '../sql/statement.ts'
import type { LimitPeriod, LimitSubject, LimitUnit } from './usage-limit.ts'

/** A limit of which somebody has used so much. */
export interface ReachedLimit {
  limit: string
  subject: LimitSubject
  /** Whose: an id or a name; empty for the installation. */
  subjectId: string
  percent: 80 | 100
  unit: LimitUnit
  currency: string | null
  period: LimitPeriod
  mode: 'enforce' | 'observe'
  /** In requests, tokens or millionths of the currency. */
  used: number
  cap: number
  /** When the period ends, in RFC 3339. */
  resetsAt: string
}

/**
 * The limits of which 80 or 100 percent are used now, and of which nobody was told in their period. Rows are locked in the
 * order in which calls lock them. Values: counters whose use has grown.
 */
export const noticeLimits = statement<ReachedLimit>(
  'notice-limits',
  `with grown as (
     select distinct limit_id, subject_id, starts_at from usage_counters where id = any($1::bigint[])
   ), totals as (
     select l.name, l.subject, l.unit, l.currency, l.period, l.mode, c.subject_id, min(c.id) as counter_id, max(c.ends_at) as ends_at,
            sum(c.used) as used, l.cap + sum(c.topped_up) as cap
       from grown join usage_counters c using (limit_id, subject_id, starts_at) join usage_limits l on l.id = c.limit_id
      where l.active group by l.id, c.subject_id, c.starts_at
   ), reached as (
     select *, case when used >= cap then 100 else 80 end as percent from totals where used >= 0.8 * cap
   ), noticed as (
     insert into usage_notices (counter_id, percent)
     select counter_id, percent from reached r
      where not exists (select from usage_notices n where n.counter_id = r.counter_id and n.percent >= r.percent)
      order by counter_id on conflict do nothing returning counter_id, percent
   )
   select name as "limit", subject, subject_id as "subjectId", percent, unit, currency, period, mode, used::float8 as used,
          cap::float8 as cap, ${isoTime('ends_at')} as "resetsAt"
     from noticed join reached using (counter_id, percent) order by counter_id`,
)
