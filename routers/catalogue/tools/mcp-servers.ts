import type { EntityManager } from '@mikro-orm/postgresql'
import { z } from 'zod'
import { AiTool } from '../../../entities/catalogue/ai-tool.ts'
import {
  McpServer,
  mcpTransports,
  serverAccounts,
  serverApprovals,
  serverOffers,
  visibleServers,
} from '../../../entities/catalogue/mcp-server.ts'
import { availabilities } from '../../../entities/sql/columns.ts'
import type { NameHolder } from '../../core/hooks.ts'
import type { Issue } from '../../core/problems.ts'
import { router } from '../../core/trpc.ts'
import { toolPrice } from '../../ports/ai/tool-price.ts'
import { timeLimitMs } from '../../ports/duration.ts'
import { SERVER_CLIENT_SECRET, SERVER_CONFIG, SERVER_KEY } from '../../ports/vault.ts'
import { secureAddress } from '../../ports/web-address.ts'
import { attribute, cataloguePage, defineResource, many, sortedTimestamps } from '../../resource/declare.ts'
import { defineReads } from '../../verbs/read.ts'
import { defineWrites, type WrittenRow } from '../../verbs/write.ts'
import { groupList, text, toSubset } from '../schemas.ts'
import { createSecretCheck, secret, secretText } from '../secrets.ts'
import { endConnectionsOfServers, endUnfitConnections } from './end-connections.ts'
import { removeTools } from './remove-tools.ts'

// Unique columns are indexed, and index entries have a maximum size.
const url = text(2048)
  .refine((address) => Buffer.byteLength(address) <= 2048, 'must not be longer than 2048 bytes')
  .describe(
    'The unique address of the server, or the command of a `stdio` server. Changing the server requires the secrets again.',
  )
const approval = z
  .enum(serverApprovals)
  .describe(
    'The approval that each call needs of the person who asks. The call is refused if they cannot be asked. With `page`, programs that speak MCP cannot answer in their place.',
  )
const timeouts = z
  .strictObject({ connect: timeLimitMs.optional(), read: timeLimitMs.optional(), sseIdle: timeLimitMs.optional() })
  .describe('The time limits in milliseconds, at most a day each.')
const account = z
  .enum(serverAccounts)
  .describe(
    "The account with which the server is called: none, the shared key, or each person's own, which they connect in their settings.",
  )
const clientId = text(2048)
  .nullable()
  .describe('The id of this service at the authorization server. If absent, it is found or registered.')
const scopes = z
  .array(z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]{1,200}$/, 'must be a scope without spaces and quotes'))
  .max(100)
  .nullable()
  .describe('The scopes that people are asked for. If absent, the server names them.')
const issuer = z
  .string()
  .max(2048)
  .nullable()
  .describe('The authorization server, which may then be private. If absent, the tool server names it.')
const pricePerCall = toolPrice
  .nullable()
  .describe(
    'The price of each call, such as 0.005 EUR, which limits in money and bills count. If absent, calls cost nothing.',
  )
const config = z.record(z.string().max(80), z.json()).nullable()

export const mcpServers = defineResource({
  type: 'mcp-servers',
  about: 'The servers that offer tools over the Model Context Protocol.',
  entity: McpServer,
  coalesced: true,
  scope: visibleServers,
  streams: 'all',
  attributes: {
    serverLabel: attribute(text(120).describe('The name that people see.'), { write: true, sort: true }),
    description: attribute(z.string().max(4000).nullable().describe('The description of what the server offers.'), {
      write: true,
      default: null,
    }),
    status: attribute(z.enum(availabilities).describe('The result of the last status check.')),
    version: attribute(z.string().nullable().describe("The version of the server's program, as it reports."), {
      only: 'admin',
    }),
    protocolVersion: attribute(z.string().nullable().describe('The revision of the protocol that the server uses.'), {
      only: 'admin',
    }),
    requireApproval: attribute(approval, { write: true, default: 'never' }),
    groups: attribute(
      groupList.describe(
        'The groups whose people may call the tools of the server, if the tools allow it, too. If empty, everybody may. Only these people and administrators see them.',
      ),
      { write: true, sensitive: true, default: [], only: 'admin' },
    ),
    gateway: attribute(
      z.boolean().describe("True if people's own programs may call the tools of the server, and not only models."),
      { write: true, sensitive: true, default: true, only: 'admin' },
    ),
    offers: attribute(
      toSubset(serverOffers).describe(
        "People's own programs also get these of the server, each once it was approved. They are no tools, and models do not see them.",
      ),
      { write: true, sensitive: true, default: [], only: 'admin' },
    ),
    transport: attribute(z.enum(mcpTransports).describe('The transport of the protocol.'), {
      write: true,
      default: 'http',
      only: 'admin',
      // Whoever can write over the network must not choose a program that starts on this host.
      input: z.enum(['sse', 'http']),
    }),
    url: attribute(url, { write: true, sensitive: true, only: 'admin', input: secureAddress }),
    timeouts: attribute(timeouts, { write: true, default: {}, only: 'admin' }),
    apiKey: secret(SERVER_KEY, secretText, 'The bearer token for the server. Nobody gets it back: stars stand for it.'),
    additionalConfig: secret(
      SERVER_CONFIG,
      config,
      'Headers, arguments and other options of the server. Headers that could be shared credentials are not sent where people have their own accounts. Nobody gets them back: stars stand for them.',
    ),
    account: attribute(account, { write: true, default: 'shared', sensitive: true, only: 'admin' }),
    oauthClientId: attribute(clientId, { write: true, default: null, sensitive: true, only: 'admin' }),
    oauthClientSecret: secret(
      SERVER_CLIENT_SECRET,
      secretText,
      'The secret of this service at the authorization server. Nobody gets it back: stars stand for it.',
    ),
    oauthScopes: attribute(scopes, { write: true, default: null, sensitive: true, only: 'admin' }),
    oauthIssuer: attribute(issuer, {
      write: true,
      default: null,
      sensitive: true,
      only: 'admin',
      input: secureAddress.nullable().meta({ description: issuer.description }),
    }),
    pricePerCall: attribute(pricePerCall, { write: true, default: null, only: 'admin' }),
    ...sortedTimestamps,
  },
  relations: { tools: many('ai-tools') },
  includes: ['tools', 'tools.models'],
  page: cataloguePage,
})

/** Returns where a server's secrets are sent: its URL, or its command on this host. */
export const getServerAddress = ({ url, transport }: { url?: unknown; transport?: unknown }) =>
  transport === 'stdio' ? `command ${url}` : String(url)

/** Returns what hooks hear of the label of a server. */
export const toLabelHolder = (
  em: EntityManager,
  { id, serverLabel }: { id?: unknown; serverLabel?: unknown },
): NameHolder => ({ subject: 'tool-server', id: id as number, name: serverLabel as string, em })

/** Records changes of a server's tools, as other people see them now. */
async function recordToolChanges({ em, changes, row }: Omit<WrittenRow, 'input'>): Promise<void> {
  const tools = await em.find(AiTool, { server: row.id, kind: 'tool' }, { fields: ['id'], orderBy: { id: 'asc' } })
  for (const { id } of tools) changes.add(['all'], 'updated', 'ai-tools', id)
}

/** People connect their accounts only where calls go over HTTP, and no key that all share stands in for them. */
function findAccountIssues({ account, transport, apiKey }: Record<string, unknown>): Issue[] {
  if (account !== 'person') return []
  const reasons = [
    ...(transport === 'stdio' ? ['as programs have no accounts'] : []),
    ...(apiKey ? ['while there is an apiKey, which all would share'] : []),
  ]
  return reasons.map((reason) => ({ path: ['account'], message: `must not be person, ${reason}` }))
}

const checkSecrets = createSecretCheck(mcpServers, (row) => ({
  url: getServerAddress(row),
  oauthIssuer: row['oauthIssuer'] as string | null,
}))

export const mcpServersRouter = router({
  ...defineReads(mcpServers),
  ...defineWrites(mcpServers, {
    validate: (row, change) => [...checkSecrets(row, change), ...findAccountIssues(row)],
    async afterFlush(written, ctx) {
      await endUnfitConnections(written.em, ctx.services.process.jobQueue, written.row.id)
      if ('groups' in written.input) await recordToolChanges(written)
      if ('serverLabel' in written.input)
        await ctx.services.process.hooks.emitSerial('name-taken', toLabelHolder(written.em, written.row))
    },
    async beforeDelete(doomed, ctx) {
      await endConnectionsOfServers(doomed.em, ctx.services.process.jobQueue, [doomed.row.id])
      // Without a server no tool works; the same server gets the names of its tools back.
      await removeTools(doomed, await doomed.em.find(AiTool, { server: doomed.row.id }, { orderBy: { id: 'asc' } }))
      await ctx.services.process.hooks.emitSerial('name-freed', toLabelHolder(doomed.em, doomed.row))
    },
  }),
})
