import { z } from 'zod'
import { McpServer, mcpTransports } from '../../entities/catalogue/mcp-server.ts'
import { everyRow } from '../../entities/sql/scope.ts'
import { router } from '../core/trpc.ts'
import { timeLimitMs } from '../ports/duration.ts'
import { SERVER_CONFIG, SERVER_KEY, type Vault } from '../ports/vault.ts'
import { attribute, cataloguePage, many, resource, timestamps } from '../resource/declare.ts'
import { reads } from '../verbs/read.ts'
import { writes } from '../verbs/write.ts'
import { masked, secret } from './ai-providers.ts'
import { secretsStay } from './secret-address.ts'

const url = z
  .string()
  .trim()
  .min(1)
  .max(2048)
  // What is unique stands in an index, whose entries have an end.
  .refine((text) => Buffer.byteLength(text) <= 2048, 'must not be longer than 2048 bytes')
  .describe('Its address, or the command of a `stdio` server; unique. Another server needs the secrets again.')
const transport = z.enum(mcpTransports).describe('How it is spoken to.')
const serverLabel = z.string().trim().min(1).max(120).describe('The name that people see.')
const description = z.string().max(4000).nullable().describe('What it offers.')
/** Nobody can be asked for a confirmation yet, so nothing that needs one is offered. */
const requireApproval = z.enum(['never']).describe('Whether a person must agree to each call.')
const apiKey = secret
  .nullable()
  .describe('Sent as a bearer token. Nobody gets it back: where there is one, stars stand for it.')
const timeouts = z
  .strictObject({ connect: timeLimitMs.optional(), read: timeLimitMs.optional(), sseIdle: timeLimitMs.optional() })
  .describe('Time limits in milliseconds, of a day at most.')
const config = z
  .record(z.string().max(80), z.json())
  .nullable()
  .describe('Headers, arguments and the like. Nobody gets it back: where there is some, stars stand for it.')

export const mcpServers = resource({
  type: 'mcp-servers',
  about: 'Servers that offer tools over the Model Context Protocol.',
  table: 'mcp_servers',
  coalesced: true,
  scope: everyRow,
  attributes: {
    serverLabel: attribute(serverLabel),
    description: attribute(description),
    requireApproval: attribute(requireApproval),
    transport: attribute(transport, { only: 'admin' }),
    url: attribute(url, { only: 'admin' }),
    timeouts: attribute(timeouts, { only: 'admin' }),
    apiKey: attribute(apiKey, { only: 'admin', sql: masked('api_key') }),
    additionalConfig: attribute(
      z
        .string()
        .nullable()
        .describe(config.description ?? ''),
      { only: 'admin', sql: masked('additional_config') },
    ),
    ...timestamps,
  },
  relations: { tools: many('ai-tools', { inverse: 'server_id' }) },
  includes: ['tools', 'tools.models'],
  sorts: ['serverLabel', 'createdAt', 'updatedAt'],
  page: cataloguePage,
})

const members = {
  url,
  transport,
  serverLabel,
  description,
  requireApproval,
  apiKey,
  timeouts,
  additionalConfig: config,
}

export const mcpServersRouter = router({
  ...reads(mcpServers),
  ...writes(mcpServers, {
    entity: McpServer,
    create: {
      ...members,
      transport: transport.default('http'),
      description: description.default(null),
      requireApproval: requireApproval.default('never'),
      apiKey: apiKey.default(null),
      timeouts: timeouts.default({}),
      additionalConfig: config.default(null),
    },
    update: members,
    check: secretsStay({
      secrets: ['apiKey', 'additionalConfig'],
      addresses: ({ url, transport }) => ({ url: transport === 'stdio' ? `command ${url}` : String(url) }),
    }),
    columns: ({ services: { vault } }, { apiKey, additionalConfig, ...given }) => ({
      ...given,
      ...(apiKey !== undefined && { apiKey: sealed(vault, apiKey, SERVER_KEY) }),
      ...(additionalConfig !== undefined && {
        additionalConfig: sealed(vault, additionalConfig && JSON.stringify(additionalConfig), SERVER_CONFIG),
      }),
    }),
  }),
})

const sealed = (vault: Vault, plain: unknown, purpose: string) =>
  plain === null ? null : vault.seal(String(plain), purpose)
