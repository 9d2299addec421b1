import { statement } from '../sql/statement.ts'
import { AiTool, type ToolKind } from './ai-tool.ts'
import { FreedToolName } from './freed-tool-name.ts'
import { McpServer } from './mcp-server.ts'

const [tools, servers, freed] = [AiTool.tableName, McpServer.tableName, FreedToolName.tableName]

/** SQL: the name may be given to another tool. */
const isOld = `freed_at < now() - interval '30 days'`

/** Keeps the names of tools that are about to be deleted. Values: the ids of the tools. */
export const keepToolNames = statement<never>(
  'keep-tool-names',
  `insert into ${freed} (name, url, mcp_name, kind, freed_at)
   select t.name, s.url, t.mcp_name, t.kind, now() from ${tools} t join ${servers} s on s.id = t.server_id where t.id = any($1::int[])
   on conflict (name) do update set url = excluded.url, mcp_name = excluded.mcp_name, kind = excluded.kind, freed_at = excluded.freed_at`,
)

export const deleteOldToolNames = statement<never>('delete-old-tool-names', `delete from ${freed} where ${isOld}`)

export interface TakenToolName {
  name: string
  /** The tool that had the name may have it again; null for the name of a tool that is there. */
  url: string | null
  mcpName: string | null
  kind: ToolKind | null
}

/** Lists the names that no other tool may get. */
export const listTakenToolNames = statement<TakenToolName>(
  'list-taken-tool-names',
  `select t.name, null as url, null as "mcpName", null as kind from ${tools} t
   union all
   select f.name, f.url, f.mcp_name, f.kind from ${freed} f
    where not (${isOld}) and not exists (select from ${tools} t where t.name = f.name)
   limit 200000`,
)
