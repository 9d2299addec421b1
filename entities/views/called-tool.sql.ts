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

const columns = `${callableTool('t', 's')} as tool, coalesce((select version from ${UsageLimitVersion.tableName}), 0) as "limitVersion"`
const source = `${AiTool.tableName} t left join ${McpServer.tableName} s on s.id = t.server_id`
const selectCallable = `select ${columns} from ${source}`

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

/** A template that may be used now, or a resource, which may be closed. */
export interface ResourceRow extends CalledTool {
  isCallable: boolean
}

/**
 * Finds the resource with an address, whatever its state, and all templates of its server that may be used now. Values: the
 * id of the server, and the address.
 */
export const findCallableResources = coalescedStatement<ResourceRow>(
  'find-callable-resources',
  `select ${columns}, ${isCallable('t', 's', 't.kind')} as "isCallable" from ${source}
    where t.server_id = $1 and (t.kind = 'resource' and t.mcp_name = $2 or ${isCallable('t', 's', "'template'")})
    order by t.kind, t.id`,
)
