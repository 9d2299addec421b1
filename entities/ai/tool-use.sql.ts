import { AccessToken } from '../identity/access-token.ts'
import { User } from '../identity/user.ts'
import { statement, unboundedStatement } from '../sql/statement.ts'
import type { ToolOutcomeWord, ToolSurface } from './tool-use.ts'
import type { UsageContext } from './usage-record.ts'

/** A call of a tool that has ended. */
export interface EndedToolUse {
  userId: number
  tokenId: number | null
  /** The label of the tool server; null for a function of an extension. */
  server: string | null
  serverId: number | null
  tool: string
  surface: ToolSurface
  outcome: ToolOutcomeWord
  durationMs: number
  bytes: number
  /** Null if the call cost nothing. */
  cost: ToolUseCost | null
}

/** The cost of a call, with what bills need of it. */
export interface ToolUseCost {
  /** Millionths of the currency. */
  costMicros: number
  currency: string
  context: UsageContext
  roomId: number | null
  appId: number | null
  requestId: string
}

/**
 * Records calls, and those that cost something among the usage that bills sum up. People and tokens that are gone
 * meanwhile are left out of them. Values: the calls as JSON.
 */
export const recordToolUses = statement<never>(
  'record-tool-uses',
  `with given as (
     select * from jsonb_to_recordset($1::jsonb) as c("userId" int, "tokenId" int, server text, "serverId" int, tool text, surface text,
                                                      outcome text, "durationMs" int, bytes int, cost jsonb)
   ), calls as (
     select g.*, c.* from given g left join lateral jsonb_to_record(g.cost) as c(
              "costMicros" bigint, currency text, context text, "roomId" int, "appId" int, "requestId" text) on true
   ), tokens as (
     select t.id from ${AccessToken.tableName} t where t.id = any(array(select "tokenId" from calls)) order by t.id for key share
   ), people as (
     select u.id from ${User.tableName} u where u.id = any(array(select "userId" from calls)) order by u.id for key share
   ), costs as (
     insert into usage_records (kind, user_id, token_id, room_id, app_id, context, provider, model, request_id, cost_micros, currency,
                                duration_ms, outcome)
     select 'tool', u.id, t.id, c."roomId", c."appId", c.context, c.server, c.tool, c."requestId", c."costMicros", c.currency,
            c."durationMs", case when c.outcome in ('completed', 'aborted') then c.outcome else 'failed' end
       from calls c left join people u on u.id = c."userId" left join tokens t on t.id = c."tokenId" where c.cost is not null
   )
   insert into tool_uses (user_id, token_id, server, server_id, tool, surface, outcome, duration_ms, bytes, cost_micros, currency)
   select u.id, t.id, c.server, c."serverId", c.tool, c.surface, c.outcome, c."durationMs", c.bytes, c."costMicros", c.currency
     from calls c left join people u on u.id = c."userId" left join tokens t on t.id = c."tokenId"`,
)

export interface ToolUseSum extends Pick<EndedToolUse, 'server' | 'tool' | 'surface' | 'outcome'> {
  calls: number
  bytes: number
  /** Mean duration. */
  durationMs: number
  /** Millionths of the currency; null if they cost nothing. */
  costMicros: number | null
  currency: string | null
}

/** Sums up the calls of each tool. Values: the first and the last day in UTC. */
export const sumToolUses = unboundedStatement<ToolUseSum>(
  `select server, tool, surface, outcome, count(*)::float8 as calls, sum(bytes)::float8 as bytes,
          round(avg(duration_ms))::float8 as "durationMs", sum(cost_micros)::float8 as "costMicros", currency
     from tool_uses
    where created_at >= $1::date::timestamp at time zone 'utc'
      and created_at < ($2::date + 1)::timestamp at time zone 'utc'
    group by 1, 2, 3, 4, currency order by calls desc, 1, 2, 3, 4, currency limit 10000`,
)

/** Deletes calls of days before the given one, at most 10,000 at once. Selects one row for each. */
export const removeOldToolUses = unboundedStatement<{ id: number }>(
  `delete from tool_uses where id = any(array(
     select id from tool_uses where created_at < $1::date::timestamp at time zone 'utc' order by created_at limit 10000))
   returning id::float8 as id`,
)
