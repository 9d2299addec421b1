import { User } from '../identity/user.ts'
import { unboundedStatement } from '../sql/statement.ts'
import { runningPeriod } from './usage-counter.sql.ts'

/** SQL for the subjects of a recorded call `r` by a person `u` that a limit `l` counts. */
const countedSubjects = `unnest(case l.subject
         when 'installation' then array['']
         when 'provider' then array[r.provider::text]
         when 'model' then array[r.model::text]
         when 'role' then array[u.role::text]
         when 'group' then u.groups::text[]
         when 'room' then array[r.room_id::text]
         when 'app' then array[r.app_id::text]
         when 'user' then array[r.user_id::text]
         when 'token' then array[r.token_id::text]
       end)`

/**
 * Counts the recorded calls of the running periods of limits, and selects how many subjects have some and their sum.
 * Roles and groups are those of today. A call counts in the period in which it began. Values: ids of limits.
 */
export const countRecordedUsage = unboundedStatement<{ subjects: number; used: number }>(
  `with counted as (
     insert into usage_counters (limit_id, subject_id, starts_at, ends_at, used)
     select l.id, w.subject_id, s.starts_at, s.ends_at,
            sum(case l.unit when 'requests' then 1 when 'tokens' then r.input_tokens::bigint + r.output_tokens
                else case when r.cost_micros = 0 or r.currency = l.currency then r.cost_micros else coalesce(l.unpriced_cost, 0) end end)
       from usage_limits l ${runningPeriod}
       join usage_records r on r.created_at >= s.starts_at
                           and r.created_at - r.duration_ms * interval '1 ms' >= s.starts_at
       left join ${User.tableName} u on u.id = r.user_id
      cross join lateral ${countedSubjects} as w(subject_id)
      where l.id = any($1::int[]) and l.active and w.subject_id is not null
        and (l.subject_id is null or l.subject_id = w.subject_id)
      group by l.id, w.subject_id, s.starts_at, s.ends_at
      order by 1, 2, 3
         on conflict (limit_id, subject_id, starts_at, stripe) do update
        set used = greatest(usage_counters.used, excluded.used), ends_at = excluded.ends_at
     returning used
   )
   select count(*)::float8 as subjects, coalesce(sum(used), 0)::float8 as used from counted`,
)

/** Sets the counted amounts of limits back to nothing. Values: ids of limits. */
export const clearUsedAmounts = unboundedStatement<never>(
  'update usage_counters set used = 0, refused = 0 where limit_id = any($1::int[])',
)
