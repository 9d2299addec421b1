import { User } from '../identity/user.ts'
import { epochMs, unboundedStatement } from '../sql/statement.ts'
import { periodAt } from './usage-counter.sql.ts'
import type { usageKinds } from './usage-record.ts'

/** A recorded call, with all that limits need to count it. */
export interface RecordedCall {
  userId: number | null
  username: string | null
  role: string | null
  groups: string[] | null
  tokenId: number | null
  roomId: number | null
  appId: number | null
  kind: (typeof usageKinds)[number]
  provider: string
  model: string
  tokens: number
  costMicros: number | null
  currency: string | null
  /** True if it began on one of the requested days, and not only earlier in the same period of a limit. */
  isAsked: boolean
  /** Starts of the periods that contain the call, in milliseconds since 1970, in the order of the values. */
  periods: number[]
}

const dayStart = (day: string) => `(${day}::date::timestamp at time zone 'utc')`
const zoned = `unnest($3::text[], $4::text[]) with ordinality as l(period, time_zone, n)`

/** SQL for the start of the earliest period that contains the first day. */
const earliest = `(select least(min(s.starts_at), ${dayStart('$1')}) from ${zoned} ${periodAt(dayStart('$1'))})`

/**
 * Lists calls in the order in which they began, from the start of the periods that contain the first day. A call takes
 * a day at most. Values: the first and the last day, and pairs of a period and a time zone.
 */
export const listRecordedCalls = unboundedStatement<RecordedCall>(
  `select c.user_id as "userId", u.username, u.role, u.groups, c.token_id as "tokenId", c.room_id as "roomId", c.app_id as "appId", c.kind, c.provider, c.model,
          c.input_tokens::float8 + c.output_tokens as tokens, c.cost_micros::float8 as "costMicros", c.currency,
          c.began >= ${dayStart('$1')} as "isAsked", w.periods
     from (select *, created_at - duration_ms * interval '1 ms' as began from usage_records
            where created_at >= ${earliest} and created_at < ${dayStart('($2::date + 2)')}) c
     left join ${User.tableName} u on u.id = c.user_id
    cross join lateral (
      select coalesce(json_agg(${epochMs('s.starts_at')} order by l.n), '[]') as periods from ${zoned} ${periodAt('c.began')}) w
    where c.began >= ${earliest} and c.began < ${dayStart('($2::date + 1)')}
    order by c.began, c.id`,
)

/** Counts calls of that time that exist only as daily sums. Values: those of `listRecordedCalls`. */
export const countSummedCalls = unboundedStatement<{ requests: number }>(
  `select coalesce(sum(requests), 0)::float8 as requests from usage_rollups
    where day between (${earliest} at time zone 'utc')::date and $2::date`,
)
