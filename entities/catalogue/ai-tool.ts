import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { id, timestamps } from '../sql/columns.ts'
import { allowedToGroups } from '../sql/groups.ts'
import { everyRowForAdmins } from '../sql/scope.ts'
import { AiModel } from './ai-model.ts'
import { McpServer, visibleServers } from './mcp-server.ts'

export const toolTypes = ['function', 'mcp'] as const

/** Definition of a tool by its server, as models get it. */
export interface ToolDefinition {
  description: string
  /** A JSON schema of its arguments. */
  inputSchema: Record<string, unknown>
  /** Capability that the server declares. */
  capability: string | null
  /** This member and the next ones are absent in definitions from before programs could call tools. */
  title?: string | null
  /** A JSON schema of the structured content of its results. */
  outputSchema?: Record<string, unknown> | null
  /** The server claims these of its tool, such as `readOnlyHint`. */
  annotations?: Record<string, boolean> | null
}

/** A function that models may call, from an extension or a tool server. */
export const AiTool = defineEntity({
  name: 'AiTool',
  tableName: 'ai_tools',
  properties: {
    id,
    ...timestamps,
    name: p.string().length(120).unique(),
    toolType: p.enum(toolTypes).default('function'),
    description: p.text().default(''),
    server: () => p.manyToOne(McpServer).deleteRule('set null').nullable().index().ref(),
    mcpName: p.string().length(200).nullable(),
    /** The current definition by the tool server. */
    mcpConfig: p.json<ToolDefinition>().nullable(),
    /** The definition that an administrator approved; the tool is disabled while the other differs in members of it. */
    approved: p.json<ToolDefinition>().nullable(),
    /** Declared by the tool itself. */
    capability: p.string().length(80).nullable(),
    /** Set by an administrator to override the declared value. */
    mappedCapability: p.string().length(80).nullable(),
    active: p.boolean().default(true),
    /** Groups that may call it, if its server allows them, too; everybody if empty. */
    groups: p.array().defaultRaw(`'{}'`),
    models: () => p.manyToMany(AiModel).mappedBy('tools'),
  },
})
export type AiTool = InferEntity<typeof AiTool>

/** Active tools that the caller's groups may call. */
export const visibleTools = everyRowForAdmins(
  (tool, sql) => `${tool}.active and ${allowedToGroups(tool, sql)}
    and (${tool}.server_id is null or ${sql.exists('mcp_servers', (s) => `${s}.id = ${tool}.server_id and ${visibleServers(s, sql)}`)})`,
)
