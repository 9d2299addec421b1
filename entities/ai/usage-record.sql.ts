import { statement, unboundedStatement } from '../sql/statement.ts'
import type { Outcome } from './usage-record.ts'

/** Values: one array per column. Whoever was removed in the meantime leaves the record without them. */
export const insertUsage = statement<never>(
  'insert-usage',
  `insert into usage_records (user_id, token_id, context, provider, model, input_tokens, output_tokens, cached_tokens,
                              cache_write_tokens, reasoning_tokens, estimated, outcome, duration_ms, cost_micros, currency,
                              price_id, request_id, created_at)
   select u.id, t.id, r.context, r.provider, r.model, r.input_tokens, r.output_tokens, r.cached_tokens,
          r.cache_write_tokens, r.reasoning_tokens, r.estimated, r.outcome, r.duration_ms, r.cost_micros, r.currency,
          r.price_id, r.request_id, r.created_at
     from unnest($1::int[], $2::int[], $3::text[], $4::text[], $5::text[], $6::int[], $7::int[], $8::int[], $9::int[],
                 $10::int[], $11::boolean[], $12::text[], $13::int[], $14::bigint[], $15::text[], $16::int[],
                 $17::text[], $18::timestamptz[])
       as r(user_id, token_id, context, provider, model, input_tokens, output_tokens, cached_tokens, cache_write_tokens,
            reasoning_tokens, estimated, outcome, duration_ms, cost_micros, currency, price_id,
            request_id, created_at)
     left join users u on u.id = r.user_id
     left join access_tokens t on t.id = r.token_id`,
)

export interface UsageSum {
  requests: number
  inputTokens: number
  outputTokens: number
  cachedTokens: number
  reasoningTokens: number
  /** Millionths of the currency; null where no price is known. */
  costMicros: number | null
  currency: string | null
}

const sums = `count(*)::int as requests,
          sum(input_tokens)::float8 as "inputTokens", sum(output_tokens)::float8 as "outputTokens",
          sum(cached_tokens)::float8 as "cachedTokens", sum(reasoning_tokens)::float8 as "reasoningTokens",
          sum(cost_micros)::float8 as "costMicros", currency`

/** Values: the user's id, the first and the last day. */
export const summariseUsage = unboundedStatement<UsageSum & { day: string; model: string; context: string }>(
  `select to_char(created_at at time zone 'utc', 'YYYY-MM-DD') as day, model, context, ${sums}
     from usage_records
    where user_id = $1 and created_at >= $2::date::timestamp at time zone 'utc'
      and created_at < ($3::date + 1)::timestamp at time zone 'utc'
    group by 1, 2, 3, currency order by 1 desc, 2, 3`,
)

/** Values: the first and the last day. Removed people share one row without a name. */
export const reportUsage = unboundedStatement<
  UsageSum & { username: string | null; provider: string; model: string; context: string; outcome: Outcome }
>(
  `select u.username, r.provider, r.model, r.context, r.outcome, ${sums}
     from usage_records r left join users u on u.id = r.user_id
    where r.created_at >= $1::date::timestamp at time zone 'utc'
      and r.created_at < ($2::date + 1)::timestamp at time zone 'utc'
    group by 1, 2, 3, 4, 5, currency order by requests desc, 1, 3`,
)
