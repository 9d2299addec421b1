import { UsageLimitVersion } from '../ai/usage-limit.ts'
import { type CallableToolRow, callableTool, isCallable } from '../catalogue/ai-tool.sql.ts'
import { AiTool } from '../catalogue/ai-tool.ts'
import { McpServer } from '../catalogue/mcp-server.ts'
import { coalescedStatement } from '../sql/statement.ts'

interface CalledTool {
  tool: CallableToolRow
  /** The version of the limits for its call. */
  limitVersion: number
}

const selectCallable = `select ${callableTool('t', 's')} as tool, coalesce((select version from ${UsageLimitVersion.tableName}), 0) as "limitVersion"
     from ${AiTool.tableName} t left join ${McpServer.tableName} s on s.id = t.server_id`

/** Finds a callable tool. Values: the name of the tool. */
export const findCallableTool = coalescedStatement<CalledTool>(
  'find-callable-tool',
  `${selectCallable} where t.name = $1 and ${isCallable('t', 's')}`,
)

/** Finds a prompt that may be used now. Values: its name. */
export const findCallablePrompt = coalescedStatement<CalledTool>(
  'find-callable-prompt',
  `${selectCallable} where t.name = $1 and ${isCallable('t', 's', "'prompt'")}`,
)

/** Finds a resource that may be read now, and all templates of its server. Values: the id of the server, and the address. */
export const findCallableResources = coalescedStatement<CalledTool>(
  'find-callable-resources',
  `${selectCallable} where t.server_id = $1
      and (t.mcp_name = $2 and ${isCallable('t', 's', "'resource'")} or ${isCallable('t', 's', "'template'")})
    order by t.kind, t.id`,
)
