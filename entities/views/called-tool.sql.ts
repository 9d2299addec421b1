import { UsageLimitVersion } from '../ai/usage-limit.ts'
import { type CallableToolRow, callableTool, isCallable } from '../catalogue/ai-tool.sql.ts'
import { AiTool } from '../catalogue/ai-tool.ts'
import { McpServer } from '../catalogue/mcp-server.ts'
import { coalescedStatement } from '../sql/statement.ts'

/** Finds a callable tool, and reads the version of the limits for its call. Values: the name of the tool. */
export const findCallableTool = coalescedStatement<{ tool: CallableToolRow; limitVersion: number }>(
  'find-callable-tool',
  `select ${callableTool('t', 's')} as tool, coalesce((select version from ${UsageLimitVersion.tableName}), 0) as "limitVersion"
     from ${AiTool.tableName} t left join ${McpServer.tableName} s on s.id = t.server_id
    where t.name = $1 and ${isCallable('t', 's')}`,
)
