import { z } from 'zod'
import { mcpTransports, serverAccounts, serverApprovals, serverOffers } from '../../../entities/catalogue/mcp-server.ts'
import { timeLimit } from '../duration.ts'
import { removeDuplicates } from '../remove-duplicates.ts'
import { secureAddress } from '../web-address.ts'
import { allowedGroups } from './allowed-groups.ts'
import { toolPrice } from './tool-price.ts'

/** Length of the text that identifies a program in the database. */
const MAX_COMMAND = 2048

const times = z.strictObject({
  connect: timeLimit.optional(),
  read: timeLimit.optional(),
  sseIdle: timeLimit.optional(),
})

/** This service as a client of the authorization server; absent members are found. */
const oauth = z.strictObject({
  clientId: z.string().min(1).max(2048).optional(),
  clientSecret: z.string().min(1).max(4096).optional(),
  scopes: z
    .array(z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]{1,200}$/))
    .max(100)
    .optional(),
  issuer: secureAddress.optional(),
})

/**
 * Headers that may be sent to a server with people's own accounts. Others could be credentials that all share, which
 * would then stand in for those of the person.
 */
const impersonalHeaders: ReadonlySet<string> = new Set([
  'accept-language',
  'user-agent',
  'x-mcp-readonly',
  'x-mcp-tools',
  'x-mcp-toolsets',
])

/** Returns true if the configured header says nothing about who calls. */
export const isImpersonalHeader = (name: string) => impersonalHeaders.has(name.toLowerCase())

/** A server that speaks HTTP, or a program of this host. */
const anyServer = z.strictObject({
  label: z.string().trim().min(1).max(120),
  description: z.string().max(4000).nullable().default(null),
  timeouts: times.default({}),
  requireApproval: z.enum(serverApprovals).default('never'),
  /** The groups that may call its tools; everybody if empty. */
  groups: allowedGroups,
  /** True if people's own programs may call its tools. If absent, administrators decide. */
  gateway: z.boolean().optional(),
  /** The price of each call; absent if it costs nothing. */
  pricePerCall: toolPrice.nullable().default(null),
  /** These programs get this beside its tools. */
  offers: z.array(z.enum(serverOffers)).max(10).overwrite(removeDuplicates).default([]),
  transport: z.enum(mcpTransports).default('http'),
  url: secureAddress.optional(),
  apiKey: z.string().min(1).optional(),
  account: z.enum(serverAccounts).default('shared'),
  oauth: oauth.default({}),
  headers: z.record(z.string().max(80), z.string().max(4096)).default({}),
  command: z.string().min(1).max(1024).optional(),
  args: z.array(z.string().max(1024)).max(100).default([]),
  env: z.record(z.string().regex(/^[A-Za-z_]\w*$/), z.string().max(4096)).default({}),
})

const personalServer = anyServer.superRefine(({ account, apiKey, headers }, ctx) => {
  if (account !== 'person') return
  const addIssue = (path: string[]) =>
    ctx.addIssue({ code: 'custom', path, message: 'must be absent with the account person, as nothing shared is sent' })
  if (apiKey !== undefined) addIssue(['apiKey'])
  for (const name of Object.keys(headers)) if (!isImpersonalHeader(name)) addIssue(['headers', name])
})

export const mcpServer = personalServer.transform(({ transport, url, command, args, env, ...server }, ctx) => {
  const isPersonal = server.account === 'person'
  if (!isPersonal && Object.keys(server.oauth).length > 0) {
    ctx.addIssue({ code: 'custom', path: ['oauth'], message: 'needs the account person' })
    return z.NEVER
  }
  if (
    transport === 'stdio' &&
    command !== undefined &&
    url === undefined &&
    server.apiKey === undefined &&
    !isPersonal
  ) {
    const commandLine = [command, ...args].join(' ').slice(0, MAX_COMMAND)
    return { ...server, transport, url: commandLine, program: { command, args, env } }
  }
  if (transport !== 'stdio' && url !== undefined && command === undefined) return { ...server, transport, url }
  ctx.addIssue({ code: 'custom', message: 'must have a url, or with the transport stdio a command, args and env' })
  return z.NEVER
})

/** Servers are identified by their address; programs by their command and arguments. */
export const refuseDuplicateServers = z.superRefine<{ mcpServers: { url: string }[] }>(({ mcpServers }, ctx) => {
  const urls = mcpServers.map(({ url }) => url)
  for (const [index, url] of urls.entries()) {
    const first = urls.indexOf(url)
    if (first < index)
      ctx.addIssue({ code: 'custom', path: ['mcpServers', index], message: `has the address of mcpServers.${first}` })
  }
})

export type ServerConfig = z.output<typeof mcpServer>

/** A program that runs as a tool server. */
export interface ProgramConfig {
  command: string
  args: readonly string[]
  env: Readonly<Record<string, string>>
}
