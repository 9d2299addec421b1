import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { id, timestamps } from '../sql/columns.ts'
import { allowedToGroups } from '../sql/groups.ts'
import { everyRowForAdmins, type SqlPredicate } from '../sql/scope.ts'
import { AiModel } from './ai-model.ts'
import { McpServer, visibleServers } from './mcp-server.ts'

export const toolTypes = ['function', 'mcp'] as const

/**
 * What a tool server offers. Models and the type `ai-tools` know tools alone; programs that speak MCP get the others, too:
 * prompts, resources at an address, and templates of such addresses.
 */
export const toolKinds = ['tool', 'prompt', 'resource', 'template'] as const
export type ToolKind = (typeof toolKinds)[number]

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
  /** Names of a prompt's arguments in their order, which the schema loses in the database. */
  argumentNames?: string[]
  /** The type of the content of a resource, or of all resources of a template. */
  mimeType?: string | null
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
    kind: p.enum(toolKinds).default('tool'),
    description: p.text().default(''),
    server: () => p.manyToOne(McpServer).deleteRule('set null').nullable().index().ref(),
    /** The server's own name for it; the address of a resource or template. */
    mcpName: p.string().length(2048).nullable(),
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

/** Active tools that the caller's groups may call; prompts and resources are none. */
export const visibleTools: SqlPredicate = (tool, sql) => `${tool}.kind = 'tool' and ${forGroups(tool, sql)}`

const forGroups = everyRowForAdmins(
  (tool, sql) => `${tool}.active and ${allowedToGroups(tool, sql)}
    and (${tool}.server_id is null or ${sql.exists('mcp_servers', (s) => `${s}.id = ${tool}.server_id and ${visibleServers(s, sql)}`)})`,
)
