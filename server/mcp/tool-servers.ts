import { isDeepStrictEqual } from 'node:util'
import type { CallToolResult, ListToolsResult, MCPClient } from '@ai-sdk/mcp'
import { LRUCache } from 'lru-cache'
import { createTimeLimit } from '../../routers/core/timeout.ts'
import { toObjectSchema } from '../../routers/ports/ai/json-schema.ts'
import { isImpersonalHeader, type ServerConfig } from '../../routers/ports/ai/mcp-server-config.ts'
import {
  type ContentPart,
  type ListedTool,
  type ServedResult,
  type ToolListing,
  type ToolServer,
  type ToolServerCall,
  ToolServerError,
  type ToolServers,
} from '../../routers/ports/ai/tool-servers.ts'
import { SERVER_CONFIG, SERVER_KEY, type Vault } from '../../routers/ports/vault.ts'
import { runOutboundCall } from '../net/fault-scope.ts'
import { createHttpClient, type HttpClient } from '../net/http-client.ts'
import type { AccountTokens } from './account-tokens.ts'
import { toKnownPart } from './content-part.ts'
import { Discovery } from './discovery.ts'
import { removeInvisible, removeInvisibleDeep, removeTagsDeep } from './hidden-text.ts'
import { ProgressReports } from './progress-reports.ts'
import { StdioServers } from './stdio-servers.ts'

/** Default time limits, in milliseconds. */
const CONNECT_MS = 5000
const SSE_IDLE_MS = 60_000
/** Time limit for all pages of a list of tools. */
const LISTING_MS = 20_000

/** Number of kept clients, which bounds those of deleted servers. */
const MAX_CLIENTS = 100

interface ClientEntry {
  config: object
  http: HttpClient
  discovery: Discovery
  /** Number of sessions that use this client now. */
  activeSessions: number
}

interface ToolServerOptions {
  vault: Vault
  /** People's own accounts. */
  accounts: AccountTokens
  /** Returns the tool servers of the configuration file. */
  readConfig(): Promise<readonly ServerConfig[]>
  /** The variable PATH, for servers that are programs. */
  path: string | undefined
  /** Default time limit of a call, in milliseconds. */
  timeout: number
  /** Maximum size of a result that a model gets, in bytes. */
  maxResult: number
}

interface CallLimits {
  /** Time limit of the whole call, in milliseconds. */
  total: number
  signal: AbortSignal
  /** The user of the call, if there is one. */
  person: number | undefined
  /** True if the tools are listed, for which an account may be missing. */
  isListing?: true
  /** Reads the progress of the call, if its caller wants to know it. */
  progress?: ProgressReports | undefined
}

type Use<T> = (client: MCPClient, signal: AbortSignal) => Promise<T>

/** Calls tool servers with the MCP client of the AI SDK, which is loaded at its first use. */
export class ConnectedToolServers implements ToolServers {
  readonly #vault: Vault
  readonly #accounts: AccountTokens
  readonly #timeout: number
  readonly #maxResult: number
  readonly #stdioServers: StdioServers
  /** The current clients by server id. */
  readonly #clients = new LRUCache<number, ClientEntry>({
    max: MAX_CLIENTS,
    dispose: (entry) => this.#closeIfUnused(entry),
  })
  /** The current clients, and replaced ones with active sessions. */
  readonly #all = new Set<ClientEntry>()

  constructor({ vault, accounts, readConfig, path, timeout, maxResult }: ToolServerOptions) {
    this.#vault = vault
    this.#accounts = accounts
    this.#timeout = timeout
    this.#maxResult = maxResult
    this.#stdioServers = new StdioServers(readConfig, { maxBytes: computeMaxResponseBytes(maxResult), path })
  }

  listTools(server: ToolServer, signal = neverAborted, person?: number): Promise<ToolListing> {
    return this.#withClient(
      { ...server, protocolVersion: null },
      { total: LISTING_MS, signal, person, isListing: true },
      readListing,
    )
  }

  call(
    server: ToolServer,
    { name, input, person, onProgress }: ToolServerCall,
    signal: AbortSignal,
  ): Promise<ServedResult> {
    const progress = onProgress && new ProgressReports(onProgress)
    const limits = { total: server.timeouts.read ?? this.#timeout, signal, person, progress }
    return this.#withClient(server, limits, async (client, signal) =>
      toServedResult(await client.callTool({ name, arguments: input, options: { signal } })),
    )
  }

  async close(): Promise<void> {
    this.#stdioServers.close()
    await Promise.all(Array.from(this.#all, ({ http }) => http.close()))
  }

  #withClient<T>(server: ToolServer, limits: CallLimits, use: Use<T>): Promise<T> {
    const isProgram = server.transport === 'stdio'
    const result = runOutboundCall({ toolServer: server.id }, limits.signal, (signal) => {
      const call = { ...limits, signal }
      return isProgram ? this.#withStdioClient(server, call, use) : this.#withHttpClient(server, call, use)
    })
    return result.catch(async (error) => (await import('./session.ts')).throwToolServerError(error, limits.signal))
  }

  #withStdioClient<T>(server: ToolServer, { total, signal, person, progress }: CallLimits, use: Use<T>): Promise<T> {
    return this.#stdioServers.withServer(server.url, { person, signal, progress }, async (program) => {
      const { withSession } = await import('./session.ts')
      using limit = createTimeLimit(Math.min(total, server.timeouts.read ?? total), signal)
      return await withSession({ server, headers: {}, fetch: rejectFetch, program }, limit.signal, use)
    })
  }

  async #withHttpClient<T>(server: ToolServer, limits: CallLimits, use: Use<T>): Promise<T> {
    const headers = buildHeaders(this.#vault, server)
    const { withSession } = await import('./session.ts')
    // To renew the tokens of an account takes time, too.
    using limit = createTimeLimit(limits.total, limits.signal)
    const { signal } = limit
    const account = server.account === 'person' ? await this.#accounts.open(server, { ...limits, signal }) : undefined
    const entry = this.#findOrCreateClient(server)
    entry.activeSessions++
    const onClosed = () => {
      entry.activeSessions--
      if (this.#clients.peek(server.id) !== entry) this.#closeIfUnused(entry)
    }
    const authorized = account?.authorize(entry.http.fetch) ?? entry.http.fetch
    const fetch = limits.progress?.wrapFetch(authorized) ?? authorized
    const discovery = account ? undefined : entry.discovery
    if (limits.isListing) discovery?.forget()
    return await withSession({ server, headers, fetch, discovery, onClosed }, signal, use).catch((error: unknown) => {
      // It may be another server now.
      if (!signal.aborted) discovery?.forget()
      throw account?.need ?? error
    })
  }

  /** Returns the client of a server, and replaces it when the server's address or time limits change. */
  #findOrCreateClient({ id, url, transport, timeouts }: ToolServer): ClientEntry {
    const config = { url, transport, timeouts }
    const current = this.#clients.get(id)
    if (current && isDeepStrictEqual(current.config, config)) return current
    const http = createHttpClient({
      connectTimeout: timeouts.connect ?? CONNECT_MS,
      byteTimeout: transport === 'sse' ? (timeouts.sseIdle ?? SSE_IDLE_MS) : (timeouts.read ?? this.#timeout),
      maxBytes: computeMaxResponseBytes(this.#maxResult),
      networkPolicy: 'configured',
    })
    const entry = { config, http, discovery: new Discovery(), activeSessions: 0 }
    this.#all.add(entry)
    this.#clients.set(id, entry)
    return entry
  }

  /** Closes a replaced client, unless its last session will. */
  #closeIfUnused(entry: ClientEntry): void {
    if (entry.activeSessions > 0) return
    this.#all.delete(entry)
    void entry.http.close()
  }
}

/** Quotes and the envelope of a result take space, too. */
const computeMaxResponseBytes = (maxResult: number) => 2 * maxResult + 64 * 1024

const rejectFetch = () => Promise.reject(new TypeError('a program is not fetched'))

const neverAborted = new AbortController().signal

async function readListing(client: MCPClient, signal: AbortSignal): Promise<ToolListing> {
  const { serverInfo, protocolVersion } = client.initializeResult
  const tools = await listTools(client, signal)
  return { version: serverInfo.version.slice(0, 80) || null, protocolVersion: protocolVersion.slice(0, 40), ...tools }
}

/**
 * Returns the headers of the additional configuration, and the API key as a bearer token if all share it. Where people
 * have their own accounts, no shared credential stands in for a missing one, so only known other headers are sent.
 */
function buildHeaders(vault: Vault, { account, apiKey, additionalConfig }: ToolServer): Record<string, string> {
  const config = additionalConfig
    ? (JSON.parse(vault.open(additionalConfig, SERVER_CONFIG)) as { headers?: unknown })
    : {}
  const entries = Object.entries((config.headers ?? {}) as Record<string, unknown>)
  const headers = entries.flatMap(([name, value]) =>
    typeof value === 'string' && (account !== 'person' || isImpersonalHeader(name))
      ? [[name.toLowerCase(), value]]
      : [],
  )
  return {
    ...Object.fromEntries(headers),
    ...(apiKey && account === 'shared' && { authorization: `Bearer ${vault.open(apiKey, SERVER_KEY)}` }),
  }
}

function toServedResult(result: CallToolResult): ServedResult {
  const { content, structuredContent, isError } = result as {
    content?: ContentPart[]
    structuredContent?: unknown
    isError?: boolean
  }
  return {
    content: (content ?? []).map(toContentPart),
    ...(structuredContent !== undefined && { structuredContent: removeTagsDeep(structuredContent) }),
    isError: isError === true,
  }
}

function toContentPart({ _meta, icons: _, ...part }: ContentPart): ContentPart {
  const { resource } = part as { resource?: Record<string, unknown> }
  const { _meta: _more, ...inner } = resource ?? {}
  return toKnownPart(removeTagsDeep(resource ? { ...part, resource: inner } : part) as ContentPart)
}

/** Limits for one server. */
const MAX_TOOLS = 200
const MAX_PAGES = 50
/** Limits for one tool. */
const MAX_BYTES = 32 * 1024
const MAX_DEPTH = 16
const MAX_NAME = 128
const MAX_TITLE = 200
/** Maximum number of refused tools that are listed. */
const MAX_REFUSED = 20

type Tool = ListToolsResult['tools'][number]
type Tools = Pick<ToolListing, 'tools' | 'rejected'>

/**
 * Reads all pages of the list, and leaves out tools whose description could do harm. Throws if the list has too many
 * pages.
 */
async function listTools(client: MCPClient, signal: AbortSignal): Promise<Tools> {
  const listed: Tool[] = []
  let cursor: string | undefined
  for (let page = 0; page < MAX_PAGES; page++) {
    const params = cursor === undefined ? {} : { params: { cursor } }
    const { tools, nextCursor } = await client.listTools({ ...params, options: { signal } })
    listed.push(...tools)
    if (listed.length > MAX_TOOLS) throw new ToolServerError(`it offers more than ${MAX_TOOLS} tools`)
    if (nextCursor === undefined) return validateTools(listed)
    cursor = nextCursor
  }
  throw new ToolServerError(`its list of tools has more than ${MAX_PAGES} pages`)
}

function validateTools(listed: readonly Tool[]): Tools {
  const listing: Tools = { tools: [], rejected: [] }
  const names = new Set<string>()
  for (const tool of listed) {
    const name = removeInvisible(tool.name).slice(0, MAX_NAME)
    const reason = names.has(tool.name) ? 'there are two of this name' : findObjection(tool)
    names.add(tool.name)
    if (reason === undefined) listing.tools.push(toListedTool(tool))
    else if (listing.rejected.length < MAX_REFUSED) listing.rejected.push({ name, reason })
  }
  return listing
}

function findObjection(tool: Tool): string | undefined {
  const { name, description = '', inputSchema } = tool
  if (name.length > MAX_NAME || name !== removeInvisible(name))
    return 'its name is too long, or has invisible characters'
  // Check the depth first: a value that is too deep cannot be written as JSON.
  if (measureDepth(inputSchema) > MAX_DEPTH) return `its schema is more than ${MAX_DEPTH} levels deep`
  if (Buffer.byteLength(JSON.stringify([description, inputSchema])) > MAX_BYTES)
    return `its description and schema are more than ${MAX_BYTES} bytes`
  try {
    toObjectSchema(inputSchema)
    return undefined
  } catch {
    return 'its schema cannot be checked'
  }
}

/** Member with the capability that a tool claims to have. An administrator judges its meaning. */
const CAPABILITY_MEMBER = 'svcCapability'

function toListedTool({ name, description = '', inputSchema, outputSchema, _meta, ...more }: Tool): ListedTool {
  const { title, annotations } = more as { title?: unknown; annotations?: { title?: unknown } | null }
  const shownTitle = title ?? annotations?.title
  const capability = (more as Record<string, unknown>)[CAPABILITY_MEMBER] ?? _meta?.[CAPABILITY_MEMBER]
  return {
    name,
    description: removeInvisible(description),
    inputSchema: removeInvisibleDeep(inputSchema) as Record<string, unknown>,
    capability: typeof capability === 'string' && isCapabilityKey(capability) ? capability : null,
    title: typeof shownTitle === 'string' ? removeInvisible(shownTitle).slice(0, MAX_TITLE) || null : null,
    outputSchema: isSmallObject(outputSchema) ? (removeInvisibleDeep(outputSchema) as Record<string, unknown>) : null,
    annotations: toHints(annotations),
  }
}

/** A schema of results only tells callers what to expect, so one that is too large is left out. */
const isSmallObject = (schema: unknown) =>
  typeof schema === 'object' &&
  schema !== null &&
  measureDepth(schema) <= MAX_DEPTH &&
  Buffer.byteLength(JSON.stringify(schema)) <= MAX_BYTES

const hints = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'] as const

/** Returns the hints that the protocol knows; null if there are none. */
function toHints(annotations: object | null | undefined): Record<string, boolean> | null {
  const given = { ...annotations } as Record<string, unknown>
  const known = hints.flatMap((name) => (typeof given[name] === 'boolean' ? [[name, given[name]] as const] : []))
  return known.length > 0 ? Object.fromEntries(known) : null
}

/** Returns true if references to tools can contain the name. */
const isCapabilityKey = (capability: string) => /^[\w-]{1,80}$/.test(capability)

function measureDepth(value: unknown, limit = MAX_DEPTH + 1): number {
  if (typeof value !== 'object' || value === null || limit === 0) return 0
  return 1 + Math.max(0, ...Object.values(value).map((member) => measureDepth(member, limit - 1)))
}
