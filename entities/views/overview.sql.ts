import { UsageRecord } from '../ai/usage-record.ts'
import { AiModel } from '../catalogue/ai-model.ts'
import { AiProvider } from '../catalogue/ai-provider.ts'
import { AiTool } from '../catalogue/ai-tool.ts'
import { McpServer } from '../catalogue/mcp-server.ts'
import { isAsApproved } from '../catalogue/tool-approval.sql.ts'
import { AccessToken } from '../identity/access-token.ts'
import { User } from '../identity/user.ts'
import { isoTime, statement, unboundedStatement } from '../sql/statement.ts'

/** SQL for calls `r` that the provider did not answer completely. An answer that a person stops is no failure. */
const failed = `count(*) filter (where r.outcome in ('failed', 'lost'))::int`

/** SQL for a percentile of the duration of answered calls. */
const durationAtShare = (column: 'duration_ms' | 'first_piece_ms', share: number) =>
  `(percentile_cont(${share}) within group (order by r.${column}) filter (where r.outcome = 'completed'))::float8`

export interface HourOfCalls {
  hour: string
  calls: number
  failed: number
  inputTokens: number
  outputTokens: number
}

/** Calls per hour, including hours without calls. Values: the number of hours. */
export const callsByHour = unboundedStatement<HourOfCalls>(
  `select ${isoTime('h.hour')} as hour, count(r.id)::int as calls, ${failed} as failed,
          coalesce(sum(r.input_tokens), 0)::float8 as "inputTokens", coalesce(sum(r.output_tokens), 0)::float8 as "outputTokens"
     from generate_series(date_trunc('hour', now()) - ($1::int - 1) * interval '1 hour', date_trunc('hour', now()), interval '1 hour') as h(hour)
     left join (select id, outcome, input_tokens, output_tokens, date_trunc('hour', created_at) as hour from ${UsageRecord.tableName}
                 where kind = 'model' and created_at >= date_trunc('hour', now()) - ($1::int - 1) * interval '1 hour') r on r.hour = h.hour
    group by h.hour order by h.hour`,
)

export interface ModelQuality {
  model: string
  provider: string
  calls: number
  failed: number
  /** Milliseconds, of answered calls only; null if there were none. */
  medianMs: number | null
  slowestMs: number | null
  /** Median time until the first piece of an answer. */
  firstPieceMs: number | null
}

const qualityOrders = { slowest: '"medianMs" desc nulls last', failing: 'failed::float8 / calls desc' } as const

/** Models that were used in the last days. The slowest time is the 95th percentile. Values: the number of days. */
export const selectModelQuality = (order: keyof typeof qualityOrders) =>
  unboundedStatement<ModelQuality>(
    `select * from (
       select r.model, r.provider, count(*)::int as calls, ${failed} as failed, ${durationAtShare('duration_ms', 0.5)} as "medianMs",
              ${durationAtShare('duration_ms', 0.95)} as "slowestMs", ${durationAtShare('first_piece_ms', 0.5)} as "firstPieceMs"
         from ${UsageRecord.tableName} r
        where r.kind = 'model' and r.created_at >= now() - $1::int * interval '1 day' group by r.model, r.provider) m
      order by ${qualityOrders[order]}, calls desc, model limit 50`,
  )

/** The total number of rows, beside each row of a short list. */
interface Counted {
  total: number
}

const counted = 'count(*) over ()::int as total'
const MOST = 20

export interface ToolToApprove extends Counted {
  name: string
  server: string
  /** True if the definition has changed since its approval. */
  hasChanged: boolean
}

/** Server tools whose definition is not approved. */
export const toolsToApprove = statement<ToolToApprove>(
  'tools-to-approve',
  `select t.name, s.server_label as server, t.approved is not null as "hasChanged", ${counted}
     from ${AiTool.tableName} t join ${McpServer.tableName} s on s.id = t.server_id
    where t.mcp_config is not null and not ${isAsApproved('t')} order by t.approved is null, t.id limit ${MOST}`,
)

export interface OfflineModel extends Counted {
  modelId: string
  provider: string
  /** Time of the last change of the model, such as that of its status. */
  since: string
}

/** Active models that the last check did not find. */
export const offlineModels = statement<OfflineModel>(
  'offline-models',
  `select m.model_id as "modelId", p.provider_id as provider, ${isoTime('m.updated_at')} as since, ${counted}
     from ${AiModel.tableName} m join ${AiProvider.tableName} p on p.id = m.provider_id
    where m.active and p.active and m.status = 'offline' order by m.updated_at desc, m.id limit ${MOST}`,
)

export interface AbandonedToken extends Counted {
  userId: number
  username: string
  disabled: boolean
  signedInAt: string | null
  tokens: number
  usedAt: string | null
}

/** Valid tokens of disabled people, and of those who have not signed in for half a year. */
export const abandonedTokens = statement<AbandonedToken>(
  'abandoned-tokens',
  `select u.id as "userId", u.username, u.disabled, ${isoTime('u.signed_in_at')} as "signedInAt", count(*)::int as tokens,
          ${isoTime('max(t.last_used_at)')} as "usedAt", ${counted}
     from ${User.tableName} u join ${AccessToken.tableName} t on t.user_id = u.id
    where (u.disabled or coalesce(u.signed_in_at, u.created_at) < now() - interval '180 days')
      and (t.expires_at is null or t.expires_at > now())
    group by u.id order by max(t.last_used_at) desc nulls last, u.id limit ${MOST}`,
)
