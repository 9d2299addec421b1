import { statement } from '../sql/statement.ts'

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
