import { statement } from '../sql/statement.ts'
import type { ToolDefinition } from './ai-tool.ts'

export interface ServerTool {
  name: string
  server: string
  /** The server's own name for it. */
  mcpName: string
  active: boolean
  /** True if its definition equals the approved one. */
  isApproved: boolean
  definition: ToolDefinition
  /** Null if it never was approved. */
  approved: ToolDefinition | null
  /** Hash of the definition. */
  hash: string
}

/** All tools of tool servers. */
export const listServerTools = statement<ServerTool>(
  'list-server-tools',
  `select t.name, s.server_label as server, t.mcp_name as "mcpName", t.active, t.mcp_config as definition,
          t.approved is not distinct from t.mcp_config as "isApproved", t.approved, md5(t.mcp_config::text) as hash
     from ai_tools t join mcp_servers s on s.id = t.server_id
    where t.mcp_config is not null order by s.id, t.id`,
)

/** The names of all tools, whoever runs them. */
export const listToolNames = statement<{ name: string }>('list-tool-names', 'select name from ai_tools limit 100000')

/** Values: the id of a tool server. */
export const lockToolsOfServer = statement<never>(
  'lock-tools-of-server',
  'select from ai_tools where server_id = $1 order by id for update',
)

/** Values: the name of a tool. */
export const lockTool = statement<never>('lock-tool', 'select from ai_tools where name = $1 for update')
