import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { id, timestamps } from '../sql/columns.ts'
import { everyRowForAdmins } from '../sql/scope.ts'
import { AiModel } from './ai-model.ts'
import { McpServer } from './mcp-server.ts'

export const toolTypes = ['function', 'mcp'] as const

/** What a tool server says of a tool, and a model is told. */
export interface ToolDefinition {
  description: string
  /** A JSON schema of its arguments. */
  inputSchema: Record<string, unknown>
  /** What it says it is good for. */
  capability: string | null
}

/** A function that a model may call: one of this service's extensions, or one that a tool server offers. */
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
    /** What the tool server says of it now. */
    mcpConfig: p.json<ToolDefinition>().nullable(),
    /** What it said when an administrator approved it: where the two differ, it is not called. */
    approved: p.json<ToolDefinition>().nullable(),
    /** Declared by the tool itself. */
    capability: p.string().length(80).nullable(),
    /** Set by an administrator to override the declared value. */
    mappedCapability: p.string().length(80).nullable(),
    active: p.boolean().default(true),
    models: () => p.manyToMany(AiModel).mappedBy('tools'),
  },
})
export type AiTool = InferEntity<typeof AiTool>

export const visibleTools = everyRowForAdmins((tool) => `${tool}.active`)
