import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { availabilities, id, timestamps } from '../sql/columns.ts'
import { allowedToGroups } from '../sql/groups.ts'
import { everyRowForAdmins } from '../sql/scope.ts'
import { AiTool } from './ai-tool.ts'

export const mcpTransports = ['sse', 'http', 'stdio'] as const
const approvals = ['never', 'always', 'page', 'auto'] as const
/** Modes that can be chosen; `auto` cannot, because nobody can tell from outside which calls need approval. */
export const serverApprovals = ['never', 'always', 'page'] as const

/**
 * The account with which a server is called: none, the key that all share, or the own account of the person who asks,
 * in whose place no other ever stands.
 */
export const serverAccounts = ['none', 'shared', 'person'] as const

/** A server may offer these beside its tools; an administrator decides which of them programs get. */
export const serverOffers = ['prompts', 'resources'] as const
export type ServerOffer = (typeof serverOffers)[number]

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
    /** Groups that may call its tools; everybody if empty. */
    groups: p.array().defaultRaw(`'{}'`),
    /** True if programs of people may call its tools, not only models. */
    gateway: p.boolean().default(true),
    /** Programs get these beside its tools. */
    offers: p.array().$type<ServerOffer[]>().defaultRaw(`'{}'`),
    /** Sealed with the application key, like the additional configuration. */
    apiKey: p.text().nullable().hidden(),
    additionalConfig: p.text().nullable().hidden(),
    account: p.enum(serverAccounts).default('shared'),
    /** The client that an administrator registered at the authorization server; null if we find or register one. */
    oauthClientId: p.string().length(2048).nullable(),
    /** Sealed with the application key. */
    oauthClientSecret: p.text().nullable().hidden(),
    /** Null if the server says which scopes its calls need. */
    oauthScopes: p.json<string[]>().nullable(),
    /** The authorization server, whose addresses are trusted like the server's own; null if it is found. */
    oauthIssuer: p.string().length(2048).nullable(),
    /** The price of each call, such as `0.005 EUR`; null if it costs nothing. */
    pricePerCall: p.string().length(20).nullable(),
    status: p.enum(availabilities).default('unknown'),
    /** Values of the configuration file; absent if it does not contain the server. */
    synced: p.json<Record<string, unknown>>().nullable().hidden(),
    /** In milliseconds. */
    timeouts: p.json<Record<string, number>>().defaultRaw(`'{}'`),
    tools: () => p.oneToMany(AiTool).mappedBy('server'),
  },
})
export type McpServer = InferEntity<typeof McpServer>

/** Servers whose tools the caller's groups may call. */
export const visibleServers = everyRowForAdmins((server, sql) => allowedToGroups(server, sql))
