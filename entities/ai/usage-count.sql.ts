import { User } from '../identity/user.ts'
import { unboundedStatement } from '../sql/statement.ts'
import { ToolUse, uncountedOutcomes } from './tool-use.ts'
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
 * SQL for the recorded usage of models, and the costs of tools, in the running periods of limits. Roles and groups are those of today. A call counts in the
 * period in which it began.
 */
const recordedModelUsage = `
     select l.id as limit_id, w.subject_id, s.starts_at, s.ends_at,
            sum(case l.unit when 'requests' then 1 when 'tokens' then r.input_tokens::bigint + r.output_tokens
                else case when r.cost_micros = 0 or r.currency = l.currency then r.cost_micros else coalesce(l.unpriced_cost, 0) end end) as used
       from usage_limits l ${runningPeriod}
       join usage_records r on r.created_at >= s.starts_at
                           and r.created_at - r.duration_ms * interval '1 ms' >= s.starts_at
       left join ${User.tableName} u on u.id = r.user_id
      cross join lateral ${countedSubjects} as w(subject_id)
      where l.id = any($1::int[]) and l.active and l.unit <> 'calls' and w.subject_id is not null
        and (r.kind = 'model' or (l.unit = 'money' and l.subject not in ('provider', 'model')))
        and (l.subject_id is null or l.subject_id = w.subject_id)
      group by l.id, w.subject_id, s.starts_at, s.ends_at`

/** SQL for the subjects of a recorded call `r` of a tool by a person `u` that a limit `l` counts. */
const toolSubjects = `unnest(case l.subject
         when 'installation' then array['']
         when 'role' then array[u.role::text]
         when 'group' then u.groups::text[]
         when 'user' then array[r.user_id::text]
         when 'token' then array[r.token_id::text]
         when 'tool-server' then array[r.server_id::text]
         when 'tool' then array[r.tool::text]
       end)`

/**
 * SQL for the recorded calls of tools in the running periods of limits. Calls that limits did not count are left out, as they
 * were never made.
 */
const recordedToolCalls = `
     select l.id as limit_id, w.subject_id, s.starts_at, s.ends_at, count(*) as used
       from usage_limits l ${runningPeriod}
       join ${ToolUse.tableName} r on r.created_at >= s.starts_at
                       and r.created_at - r.duration_ms * interval '1 ms' >= s.starts_at
                       and r.outcome not in ('${uncountedOutcomes.join("','")}')
       left join ${User.tableName} u on u.id = r.user_id
      cross join lateral ${toolSubjects} as w(subject_id)
      where l.id = any($1::int[]) and l.active and l.unit = 'calls' and w.subject_id is not null
        and (l.subject_id is null or l.subject_id = w.subject_id)
      group by l.id, w.subject_id, s.starts_at, s.ends_at`

const recordedUsage = `${recordedModelUsage} union all ${recordedToolCalls}`

/**
 * Creates the missing counters of recorded usage. Values: ids of limits. The insert names no columns for a conflict: see
 * `stripe`.
 */
export const openRecordedCounters = unboundedStatement<never>(
  `insert into usage_counters (limit_id, subject_id, starts_at, ends_at, used) ${recordedUsage}
    order by 1, 2, 3
       on conflict do nothing`,
)

/**
 * Raises counters to the recorded usage, and selects how many subjects have some and their sum. It comes after
 * `openRecordedCounters`, so that it finds counters that others have opened meanwhile. Values: ids of limits.
 */
export const countRecordedUsage = unboundedStatement<{ subjects: number; used: number }>(
  `with recorded as (${recordedUsage}
   ), locked as (
     select c.id, r.used, r.ends_at
       from recorded r join usage_counters c on c.limit_id = r.limit_id and c.subject_id = r.subject_id
                                            and c.starts_at = r.starts_at
      order by c.id for update of c
   ), counted as (
     update usage_counters c set used = greatest(c.used, l.used), ends_at = l.ends_at
       from locked l where c.id = l.id
     returning c.used
   )
   select count(*)::float8 as subjects, coalesce(sum(used), 0)::float8 as used from counted`,
)

/** Sets the counted amounts of limits back to nothing. Values: ids of limits. */
export const clearUsedAmounts = unboundedStatement<never>(
  'update usage_counters set used = 0, refused = 0 where limit_id = any($1::int[])',
)
