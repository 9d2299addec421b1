import { User } from '../identity/user.ts'
import { unboundedStatement } from '../sql/statement.ts'
import { UsageClosing } from './usage-closing.ts'
import type { Outcome, UsageCounts } from './usage-record.ts'

export interface UsageSum extends UsageCounts {
  requests: number
  /** Requests of which some tokens are estimated. */
  estimated: number
  /** Millionths of the currency; null if no price is known. */
  costMicros: number | null
  currency: string | null
  /** Requests without a known price, which the cost does not include. */
  unpriced: number
}

const counts =
  'input_tokens, output_tokens, cached_tokens, cache_write_tokens, reasoning_tokens, web_searches, web_fetches'

/** SQL for single calls and sums of earlier days as one table, between the days at these positions. */
export const usageBetween = (from: string, to: string, condition = 'true') => `(
    select (created_at at time zone 'utc')::date as day, user_id, room_id, app_id, provider, model, assistant, context, outcome, currency, 1 as requests,
           estimated::int as estimated, (cost_micros is null)::int as unpriced, ${counts}, cost_micros
      from usage_records
     where ${condition} and created_at >= ${from}::date::timestamp at time zone 'utc'
       and created_at < (${to}::date + 1)::timestamp at time zone 'utc'
    union all
    select day, user_id, room_id, app_id, provider, model, assistant, context, outcome, currency, requests, estimated, unpriced, ${counts}, cost_micros
      from usage_rollups
     where ${condition} and day between ${from}::date and ${to}::date
  )`

const selectSum = (column: string, name: string) => `sum(r.${column})::float8 as "${name}"`

/** Columns with the sums of rows `r`, and their currency. */
export const sums = [
  selectSum('requests', 'requests'),
  selectSum('estimated', 'estimated'),
  selectSum('input_tokens', 'inputTokens'),
  selectSum('output_tokens', 'outputTokens'),
  selectSum('cached_tokens', 'cachedTokens'),
  selectSum('cache_write_tokens', 'cacheWriteTokens'),
  selectSum('reasoning_tokens', 'reasoningTokens'),
  selectSum('web_searches', 'webSearches'),
  selectSum('web_fetches', 'webFetches'),
  selectSum('cost_micros', 'costMicros'),
  'r.currency',
  selectSum('unpriced', 'unpriced'),
].join(', ')

/** SQL for the handle of the assistant of rows `r`; null for calls of a model itself. */
export const assistantHandle = `split_part(r.assistant, '@', 1)`

export const dayText = `to_char(r.day, 'YYYY-MM-DD')`

/** Values: the user's id, the first and the last day. */
export const summariseUsage = unboundedStatement<UsageSum & { day: string; model: string; context: string }>(
  `select ${dayText} as day, r.model, r.context, ${sums} from ${usageBetween('$2', '$3', 'user_id = $1')} r
    group by 1, 2, 3, r.currency order by 1 desc, 2, 3, r.currency`,
)

/** Values: the first and the last day. Erased people share one row without a name. */
export const reportUsage = unboundedStatement<
  UsageSum & { username: string | null; provider: string; model: string; context: string; outcome: Outcome }
>(
  `select u.username, r.provider, r.model, r.context, r.outcome, ${sums}
     from ${usageBetween('$1', '$2')} r left join ${User.tableName} u on u.id = r.user_id
    group by 1, 2, 3, 4, 5, r.currency order by requests desc, 1, 2, 3, 4, 5, r.currency`,
)

const selectStart = (day: string) => `${day}::date::timestamp at time zone 'utc'`

/** The oldest day with single calls. Values: the day before which it must be. */
export const oldestUsageDay = unboundedStatement<{ day: string }>(
  `select to_char(created_at at time zone 'utc', 'YYYY-MM-DD') as day from usage_records
    where created_at < ${selectStart('$1')} order by created_at limit 1`,
)

/** SQL for the month after the last closed one, for calls of closed months that were recorded later. */
const billedMonth = `(select (c.month + interval '1 month')::date from ${UsageClosing.tableName} c
     where gone.id > c.last_record and $1::date < (c.month + interval '1 month')
       and c.month = (select max(month) from ${UsageClosing.tableName}))`

/**
 * Replaces the records of a day by sums, in one statement, so that no call is in both or in neither. Unbilled calls are
 * summed separately; no month may be closed meanwhile. Values: the day.
 */
export const rollUpUsage = unboundedStatement<never>(
  `with gone as (
     delete from usage_records where created_at >= ${selectStart('$1')} and created_at < ${selectStart('($1::date + 1)')} returning *
   )
   insert into usage_rollups (day, billed, user_id, room_id, app_id, provider, model, assistant, context, outcome, currency, requests, estimated, unpriced,
                              ${counts}, cost_micros)
   select $1::date, ${billedMonth}, user_id, room_id, app_id, provider, model, assistant, context, outcome, currency, count(*), count(*) filter (where estimated),
          count(*) filter (where cost_micros is null), sum(input_tokens), sum(output_tokens), sum(cached_tokens),
          sum(cache_write_tokens), sum(reasoning_tokens), sum(web_searches), sum(web_fetches), sum(cost_micros)
     from gone group by 2, 3, 4, 5, 6, 7, 8, 9, 10, 11`,
)
