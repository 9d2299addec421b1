import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { availabilities, id, timestamps } from '../sql/columns.ts'
import { AiTool } from './ai-tool.ts'

export const mcpTransports = ['sse', 'http', 'stdio'] as const
const approvals = ['never', 'always', 'auto'] as const
/** Modes that can be chosen; `auto` cannot, because nobody can tell from outside which calls need approval. */
export const serverApprovals = ['never', 'always'] as const

/** A server that offers tools over the Model Context Protocol. */
export const McpServer = defineEntity({
  name: 'McpServer',
  tableName: 'mcp_servers',
  properties: {
    id,
    ...timestamps,
    url: p.string().length(2048).unique(),
    transport: p.enum(mcpTransports).default('http'),
    serverLabel: p.string().length(120),
    description: p.text().nullable(),
    version: p.string().length(80).nullable(),
    protocolVersion: p.string().length(40).nullable(),
    requireApproval: p.enum(approvals).default('never'),
    /** Sealed with the application key, like the additional configuration. */
    apiKey: p.text().nullable().hidden(),
    additionalConfig: p.text().nullable().hidden(),
    status: p.enum(availabilities).default('unknown'),
    /** Values of the configuration file; absent if it does not contain the server. */
    synced: p.json<Record<string, unknown>>().nullable().hidden(),
    /** In milliseconds. */
    timeouts: p.json<Record<string, number>>().defaultRaw(`'{}'`),
    tools: () => p.oneToMany(AiTool).mappedBy('server'),
  },
})
export type McpServer = InferEntity<typeof McpServer>
