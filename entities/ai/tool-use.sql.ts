import { AccessToken } from '../identity/access-token.ts'
import { User } from '../identity/user.ts'
import { statement, unboundedStatement } from '../sql/statement.ts'
import type { ToolOutcomeWord, ToolSurface } from './tool-use.ts'

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
}

/** Records calls. People and tokens that are gone meanwhile are left out of them. Values: the calls as JSON. */
export const recordToolUses = statement<never>(
  'record-tool-uses',
  `with calls as (
     select * from jsonb_to_recordset($1::jsonb) as c("userId" int, "tokenId" int, server text, "serverId" int, tool text, surface text,
                                                      outcome text, "durationMs" int, bytes int)
   ), tokens as (
     select t.id from ${AccessToken.tableName} t where t.id = any(array(select "tokenId" from calls)) order by t.id for key share
   ), people as (
     select u.id from ${User.tableName} u where u.id = any(array(select "userId" from calls)) order by u.id for key share
   )
   insert into tool_uses (user_id, token_id, server, server_id, tool, surface, outcome, duration_ms, bytes)
   select u.id, t.id, c.server, c."serverId", c.tool, c.surface, c.outcome, c."durationMs", c.bytes
     from calls c left join people u on u.id = c."userId" left join tokens t on t.id = c."tokenId"`,
)

export interface ToolUseSum extends Pick<EndedToolUse, 'server' | 'tool' | 'surface' | 'outcome'> {
  calls: number
  bytes: number
  /** Mean duration. */
  durationMs: number
}

/** Sums up the calls of each tool. Values: the first and the last day in UTC. */
export const sumToolUses = unboundedStatement<ToolUseSum>(
  `select server, tool, surface, outcome, count(*)::float8 as calls, sum(bytes)::float8 as bytes,
          round(avg(duration_ms))::float8 as "durationMs"
     from tool_uses
    where created_at >= $1::date::timestamp at time zone 'utc'
      and created_at < ($2::date + 1)::timestamp at time zone 'utc'
    group by 1, 2, 3, 4 order by calls desc, 1, 2, 3, 4 limit 10000`,
)

/** Deletes calls of days before the given one, at most 10,000 at once. Selects one row for each. */
export const removeOldToolUses = unboundedStatement<{ id: number }>(
  `delete from tool_uses where id = any(array(
     select id from tool_uses where created_at < $1::date::timestamp at time zone 'utc' order by created_at limit 10000))
   returning id::float8 as id`,
)
