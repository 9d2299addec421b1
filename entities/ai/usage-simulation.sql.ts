import { User } from '../identity/user.ts'
import { epochMs, unboundedStatement } from '../sql/statement.ts'
import { periodAt } from './usage-counter.sql.ts'

/** A call as it is recorded, with what limits count it by. */
export interface RecordedCall {
  userId: number | null
  username: string | null
  role: string | null
  groups: string[] | null
  tokenId: number | null
  roomId: number | null
  appId: number | null
  provider: string
  model: string
  tokens: number
  costMicros: number | null
  currency: string | null
  /** Whether it began on one of the days asked for, and not before in the same period of a limit. */
  isAsked: boolean
  /** When the periods began in which it did, in milliseconds since 1970; in the order of the values. */
  periods: number[]
}

const dayStart = (day: string) => `(${day}::date::timestamp at time zone 'utc')`
const zoned = `unnest($3::text[], $4::text[]) with ordinality as l(period, time_zone, n)`

/** When the earliest period begins in which the first day does. */
const earliest = `(select least(min(s.starts_at), ${dayStart('$1')}) from ${zoned} ${periodAt(dayStart('$1'))})`

/**
 * Calls in the order in which they began, from the beginning of the periods in which the first day lies. A call takes a day
 * at most. Values: the first and the last day, and periods with a time zone each.
 */
export const listRecordedCalls = unboundedStatement<RecordedCall>(
  `select c.user_id as "userId", u.username, u.role, u.groups, c.token_id as "tokenId", c.room_id as "roomId", c.app_id as "appId", c.provider, c.model,
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

/** How many calls of that time are kept as sums of a day only. Values: as of `recordedCalls`. */
export const countSummedCalls = unboundedStatement<{ requests: number }>(
  `select coalesce(sum(requests), 0)::float8 as requests from usage_rollups
    where day between (${earliest} at time zone 'utc')::date and $2::date`,
)
