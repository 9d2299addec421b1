import { isDeepStrictEqual } from 'node:util'
import type { CallToolResult, ListToolsResult, MCPClient } from '@ai-sdk/mcp'
import { toObjectSchema } from '../../routers/ports/ai/json-schema.ts'
import type { ServerConfig } from '../../routers/ports/ai/mcp-server-config.ts'
import {
  type ListedTool,
  type ToolCall,
  ToolFailure,
  type ToolListing,
  type ToolServer,
  ToolServerError,
  type ToolServers,
} from '../../routers/ports/ai/tool-servers.ts'
import { SERVER_CONFIG, SERVER_KEY, type Vault } from '../../routers/ports/vault.ts'
import { createHttpClient, type HttpClient } from '../net/http-client.ts'
import { Programs } from './stdio-servers.ts'

/** In milliseconds, where a server has no times of its own. */
const CONNECT_MS = 5000
const SSE_IDLE_MS = 60_000
/** For all pages of a list of tools. */
const LISTING_MS = 20_000

interface ToolServerOptions {
  vault: Vault
  /** The tool servers of the configuration file. */
  configured(): Promise<readonly ServerConfig[]>
  /** The variable PATH for those that are programs. */
  path: string | undefined
  /** How long a call may take, in milliseconds, where its server has no time of its own. */
  timeout: number
  /** The largest result that a model is told, in bytes. */
  maxResult: number
}

interface Times {
  total: number
  signal: AbortSignal
  /** For whom it is, where it is for somebody. */
  person?: number
}

type Use<T> = (client: MCPClient, signal: AbortSignal) => Promise<T>

/** Speaks to tool servers by the client of the AI SDK, which is loaded at its first use, on connections of their own. */
export class ConnectedToolServers implements ToolServers {
  readonly #vault: Vault
  readonly #timeout: number
  readonly #maxResult: number
  readonly #programs: Programs
  readonly #clients = new Map<number, { of: object; http: HttpClient }>()

  constructor({ vault, configured, path, timeout, maxResult }: ToolServerOptions) {
    this.#vault = vault
    this.#timeout = timeout
    this.#maxResult = maxResult
    this.#programs = new Programs(configured, { maxBytes: maxAnswer(maxResult), path })
  }

  listTools(server: ToolServer, signal = never): Promise<ToolListing> {
    return this.#speak({ ...server, protocolVersion: null }, { total: LISTING_MS, signal }, readOffer)
  }

  call(server: ToolServer, { name, input, person }: ToolCall, signal: AbortSignal): Promise<unknown> {
    const times = { total: server.timeouts.read ?? this.#timeout, signal, person }
    return this.#speak(server, times, async (client, signal) =>
      toldToModel(await client.callTool({ name, arguments: input, options: { signal } }), this.#maxResult),
    )
  }

  async close(): Promise<void> {
    this.#programs.close()
    await Promise.all([...this.#clients.values()].map(({ http }) => http.close()))
  }

  #speak<T>(server: ToolServer, times: Times, use: Use<T>): Promise<T> {
    const isProgram = server.transport === 'stdio'
    const answer = isProgram ? this.#speakToProgram(server, times, use) : this.#speakOverHttp(server, times, use)
    return answer.catch(async (error) => (await import('./session.ts')).explain(error, times.signal))
  }

  #speakToProgram<T>(server: ToolServer, { total, signal, person }: Times, use: Use<T>): Promise<T> {
    return this.#programs.with(server.url, { person, signal }, async (program) => {
      const { withSession } = await import('./session.ts')
      const times = { total: Math.min(total, server.timeouts.read ?? total), signal }
      return withSession({ server, headers: {}, fetch: noFetch, program }, times, use)
    })
  }

  async #speakOverHttp<T>(server: ToolServer, times: Times, use: Use<T>): Promise<T> {
    const headers = openHeaders(this.#vault, server)
    const { fetch } = this.#httpFor(server)
    const { withSession } = await import('./session.ts')
    return withSession({ server, headers, fetch }, times, use)
  }

  /** The connections to a server, which are made anew where its address or its times have changed. */
  #httpFor({ id, url, transport, timeouts }: ToolServer): HttpClient {
    const of = { url, transport, timeouts }
    const known = this.#clients.get(id)
    if (known && isDeepStrictEqual(known.of, of)) return known.http
    const http = createHttpClient({
      connectTimeout: timeouts.connect ?? CONNECT_MS,
      byteTimeout: transport === 'sse' ? (timeouts.sseIdle ?? SSE_IDLE_MS) : (timeouts.read ?? this.#timeout),
      maxBytes: maxAnswer(this.#maxResult),
      networkPolicy: 'configured',
    })
    this.#clients.set(id, { of, http })
    void known?.http.close()
    return http
  }
}

/** Quotes and what stands around a result take room, too. */
const maxAnswer = (maxResult: number) => 2 * maxResult + 64 * 1024

const noFetch = () => Promise.reject(new TypeError('a program is not fetched'))

const never = new AbortController().signal

async function readOffer(client: MCPClient, signal: AbortSignal): Promise<ToolListing> {
  const { serverInfo, protocolVersion } = client.initializeResult
  const tools = await listTools(client, signal)
  return { version: serverInfo.version.slice(0, 80) || null, protocolVersion: protocolVersion.slice(0, 40), ...tools }
}

/** The key as a bearer token, beside the headers of the additional configuration. */
function openHeaders(vault: Vault, { apiKey, additionalConfig }: ToolServer): Record<string, string> {
  const config = additionalConfig
    ? (JSON.parse(vault.open(additionalConfig, SERVER_CONFIG)) as { headers?: unknown })
    : {}
  const given = Object.entries((config.headers ?? {}) as Record<string, unknown>)
  const headers = given.flatMap(([name, value]) => (typeof value === 'string' ? [[name.toLowerCase(), value]] : []))
  return {
    ...Object.fromEntries(headers),
    ...(apiKey && { authorization: `Bearer ${vault.open(apiKey, SERVER_KEY)}` }),
  }
}

interface Part {
  type: string
  text?: unknown
  data?: unknown
  mimeType?: unknown
  uri?: unknown
  resource?: { text?: unknown; blob?: unknown; mimeType?: unknown }
}

/** What a model is told of a result: its texts, or its structure where there are none, or of its failure. Throws where it is too large. */
function toldToModel(result: CallToolResult, maxBytes: number): unknown {
  const { content, structuredContent, isError } = result as {
    content?: Part[]
    structuredContent?: unknown
    isError?: boolean
  }
  const texts = (content ?? []).map(toText)
  const told = texts.length > 0 ? texts.join('\n') : (structuredContent ?? null)
  const bytes = Buffer.byteLength(JSON.stringify(told) ?? '')
  if (bytes > maxBytes) throw new ToolServerError(`its result is ${bytes} bytes, of which ${maxBytes} are taken`)
  return isError ? new ToolFailure(told) : told
}

function toText({ type, text, data, mimeType, uri, resource }: Part): string {
  if (typeof text === 'string') return text
  if (typeof resource?.text === 'string') return resource.text
  if (typeof uri === 'string') return uri
  const content = typeof data === 'string' ? data : resource?.blob
  const bytes = typeof content === 'string' ? Buffer.byteLength(content, 'base64') : 0
  return `[${type} of type ${String(mimeType ?? resource?.mimeType ?? 'unknown').slice(0, 80)}, ${bytes} bytes, not shown]`
}

/** Of one server. */
const MAX_TOOLS = 200
const MAX_PAGES = 50
/** Of one tool. */
const MAX_BYTES = 32 * 1024
const MAX_DEPTH = 16
const MAX_NAME = 128
/** Of those that are refused: more names nobody reads. */
const MAX_REFUSED = 20

type Tool = ListToolsResult['tools'][number]
type Tools = Pick<ToolListing, 'tools' | 'rejected'>

/** Reads all pages of the list. Throws where it has no end; leaves out tools that could do harm by how they are described. */
async function listTools(client: MCPClient, signal: AbortSignal): Promise<Tools> {
  const listed: Tool[] = []
  let cursor: string | undefined
  for (let page = 0; page < MAX_PAGES; page++) {
    const params = cursor === undefined ? {} : { params: { cursor } }
    const { tools, nextCursor } = await client.listTools({ ...params, options: { signal } })
    listed.push(...tools)
    if (listed.length > MAX_TOOLS) throw new ToolServerError(`it offers more than ${MAX_TOOLS} tools`)
    if (nextCursor === undefined) return sorted(listed)
    cursor = nextCursor
  }
  throw new ToolServerError(`its list of tools has more than ${MAX_PAGES} pages`)
}

function sorted(listed: readonly Tool[]): Tools {
  const offer: Tools = { tools: [], rejected: [] }
  const names = new Set<string>()
  for (const tool of listed) {
    const name = visible(tool.name).slice(0, MAX_NAME)
    const reason = names.has(tool.name) ? 'there are two of this name' : reasonAgainst(tool)
    names.add(tool.name)
    if (reason === undefined) offer.tools.push(asOffered(tool))
    else if (offer.rejected.length < MAX_REFUSED) offer.rejected.push({ name, reason })
  }
  return offer
}

function reasonAgainst(tool: Tool): string | undefined {
  const { name, description = '', inputSchema } = tool
  if (name.length > MAX_NAME || name !== visible(name)) return 'its name is too long, or has invisible characters'
  // The depth goes first: what is too deep cannot be written as JSON either.
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

/** Said by the server about itself; what it means is for an administrator to judge. */
const CAPABILITY = 'svcCapability'

function asOffered({ name, description = '', inputSchema, _meta, ...more }: Tool): ListedTool {
  const capability = (more as Record<string, unknown>)[CAPABILITY] ?? _meta?.[CAPABILITY]
  return {
    name,
    description: visible(description),
    inputSchema: visibleIn(inputSchema) as Record<string, unknown>,
    capability: typeof capability === 'string' && isKey(capability) ? capability : null,
  }
}

/** What a reference to a tool can name. */
const isKey = (capability: string) => /^[\w-]{1,80}$/.test(capability)

/** Without what a person who reads it would not see, but a model would: control, format and tag characters. */
const visible = (text: string) => text.replace(/[^\P{C}\n\t]|[\u{e0000}-\u{e0fff}]/gu, '').toWellFormed()

function visibleIn(value: unknown): unknown {
  if (typeof value === 'string') return visible(value)
  if (Array.isArray(value)) return value.map(visibleIn)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [visible(name), visibleIn(member)]))
}

function measureDepth(value: unknown, limit = MAX_DEPTH + 1): number {
  if (typeof value !== 'object' || value === null || limit === 0) return 0
  return 1 + Math.max(0, ...Object.values(value).map((member) => measureDepth(member, limit - 1)))
}
