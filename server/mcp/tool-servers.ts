import { isDeepStrictEqual } from 'node:util'
import type { CallToolResult, MCPClient } from '@ai-sdk/mcp'
import type { ServerConfig } from '../../routers/ports/ai/server-config.ts'
import {
  type ToolCall,
  ToolFailure,
  type ToolOffer,
  type ToolServer,
  ToolServerError,
  type ToolServers,
} from '../../routers/ports/ai/tool-servers.ts'
import { SERVER_CONFIG, SERVER_KEY, type Vault } from '../../routers/ports/vault.ts'
import { createHttpClient, type HttpClient } from '../net/http-client.ts'
import { listTools } from './definitions.ts'
import { Programs } from './programs.ts'

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

  offer(server: ToolServer, signal = never): Promise<ToolOffer> {
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
    return answer.catch(async (error) => (await import('./explain.ts')).explain(error, times.signal))
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

async function readOffer(client: MCPClient, signal: AbortSignal): Promise<ToolOffer> {
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
