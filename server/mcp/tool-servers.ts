import { isDeepStrictEqual } from 'node:util'
import type { CallToolResult, MCPClient } from '@ai-sdk/mcp'
import { LRUCache } from 'lru-cache'
import { createTimeLimit } from '../../routers/core/timeout.ts'
import { isImpersonalHeader, type ServerConfig } from '../../routers/ports/ai/mcp-server-config.ts'
import {
  type CallPlace,
  type ContentPart,
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
import { removeTags, removeTagsDeep } from './hidden-text.ts'
import { isPageAddress } from './offer-listing.ts'
import { ProgressReports } from './progress-reports.ts'
import { StdioServers } from './stdio-servers.ts'
import { readListing } from './tool-listing.ts'

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
  /** Place of the call; a list of tools takes its own. */
  place?: CallPlace
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
      (client, signal) => readListing(client, server.offers, signal),
    )
  }

  call(
    server: ToolServer,
    { person, place, onProgress, ...call }: ToolServerCall,
    signal: AbortSignal,
  ): Promise<ServedResult> {
    const progress = onProgress && new ProgressReports(onProgress)
    const limits = { total: server.timeouts.read ?? this.#timeout, signal, person, place, progress }
    return this.#withClient(server, limits, (client, signal) => sendCall(client, call, signal))
  }

  async reserve({ transport, url }: ToolServer, person: number): Promise<CallPlace> {
    return transport === 'stdio' ? this.#stdioServers.reserve(url, person) : { [Symbol.dispose]() {} }
  }

  async findMissingAccount(server: ToolServer, person: number) {
    return server.account === 'person' ? this.#accounts.findMissing(server, person) : undefined
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

  async #withStdioClient<T>(server: ToolServer, limits: CallLimits, use: Use<T>): Promise<T> {
    const { total, signal, person, progress } = limits
    using own = limits.place ? undefined : await this.#stdioServers.reserve(server.url, person)
    const place = limits.place?.program ?? own?.program
    // The server was another one when the place was taken.
    if (!place) throw new ToolServerError('it has changed')
    return await this.#stdioServers.withServer(place, { signal, progress }, async (program) => {
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

async function sendCall(
  client: MCPClient,
  { kind, name, input }: Pick<ToolServerCall, 'kind' | 'name' | 'input'>,
  signal: AbortSignal,
): Promise<ServedResult> {
  const options = { signal }
  if (kind === 'tool') return toServedResult(await client.callTool({ name, arguments: input, options }))
  if (kind === 'prompt') return toServedPrompt(await client.getPrompt({ name, arguments: input, options }))
  return toServedResource(await client.readResource({ uri: String(input['uri']), options }))
}

function toServedPrompt({ description, messages }: Awaited<ReturnType<MCPClient['getPrompt']>>): ServedResult {
  const structuredContent = {
    ...(description !== undefined && { description: removeTags(description) }),
    messages: messages.map(({ role, content }) => ({ role, content: toContentPart(content as ContentPart) })),
  }
  return { content: [], structuredContent, isError: false }
}

/** Leaves out pages for the programs of people, which only their own server could show safely. */
function toServedResource({ contents }: Awaited<ReturnType<MCPClient['readResource']>>): ServedResult {
  const passed = contents.filter(({ uri }) => !isPageAddress(uri))
  return { content: [], structuredContent: { contents: passed.map(toResourceContents) }, isError: false }
}

const toResourceContents = ({ uri, mimeType, ...content }: { uri: string; mimeType?: string | undefined }) => {
  const { text, blob } = content as { text?: string; blob?: string }
  return removeTagsDeep({
    uri,
    ...(mimeType !== undefined && { mimeType }),
    ...(text === undefined ? { blob } : { text }),
  })
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
