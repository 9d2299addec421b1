import { isDeepStrictEqual } from 'node:util'
import type { MCPClient } from '@ai-sdk/mcp'
import type { ServerConfig } from '../../routers/ports/ai/server-config.ts'
import type { ToolCall, ToolOffer, ToolServer, ToolServers } from '../../routers/ports/ai/tool-servers.ts'
import { SERVER_CONFIG, SERVER_KEY, type Vault } from '../../routers/ports/vault.ts'
import { createHttpClient, type HttpClient } from '../net/http-client.ts'
import { listTools } from './definitions.ts'
import { Programs } from './programs.ts'
import { toldToModel } from './results.ts'

/** In milliseconds, where a server has no times of its own. */
const CONNECT_MS = 5000
const READ_MS = 30_000
const SSE_IDLE_MS = 60_000
/** For all pages of a list of tools. */
const LISTING_MS = 20_000

interface ToolServerOptions {
  vault: Vault
  /** The tool servers of the configuration file. */
  configured(): Promise<readonly ServerConfig[]>
  /** The variable PATH for those that are programs. */
  path: string | undefined
  /** The largest result that a model is told, in bytes. */
  maxResult: number
}

/** Speaks to tool servers by the client of the AI SDK, which is loaded at its first use, on connections of their own. */
export function createToolServers({
  vault,
  configured,
  path,
  maxResult,
}: ToolServerOptions): ToolServers & { close(): Promise<void> } {
  const clients = new Map<number, { of: object; http: HttpClient }>()
  const programs = new Programs(configured, { maxBytes: maxAnswer(maxResult), path })

  function httpFor({ id, url, transport, timeouts }: ToolServer): HttpClient {
    const of = { url, transport, timeouts }
    const known = clients.get(id)
    if (known && isDeepStrictEqual(known.of, of)) return known.http
    const http = createHttpClient({
      connectTimeout: timeouts.connect ?? CONNECT_MS,
      byteTimeout: transport === 'sse' ? (timeouts.sseIdle ?? SSE_IDLE_MS) : (timeouts.read ?? READ_MS),
      maxBytes: maxAnswer(maxResult),
      networkPolicy: 'configured',
    })
    clients.set(id, { of, http })
    void known?.http.close()
    return http
  }

  function speak<T>(server: ToolServer, times: Times, use: (client: MCPClient, signal: AbortSignal) => Promise<T>) {
    const run = server.transport === 'stdio' ? speakToProgram : speakOverHttp
    return run(server, times, use).catch(async (error) => (await import('./explain.ts')).explain(error, times.signal))
  }

  const speakToProgram: Speak = (server, { total, signal, person }, use) =>
    programs.with(server.url, { person, signal }, async (program) => {
      const { withSession } = await import('./session.ts')
      const times = { total: Math.min(total, server.timeouts.read ?? total), signal }
      return withSession({ server, headers: {}, fetch: noFetch, program }, times, use)
    })

  const speakOverHttp: Speak = async (server, times, use) => {
    const headers = headersOf(vault, server)
    const { fetch } = httpFor(server)
    const { withSession } = await import('./session.ts')
    return withSession({ server, headers, fetch }, times, use)
  }

  return {
    offer: (server, signal = never) =>
      speak({ ...server, protocolVersion: null }, { total: LISTING_MS, signal }, offerOf),
    call: (server, { name, input, person }: ToolCall, signal) =>
      speak(server, { total: server.timeouts.read ?? READ_MS, signal, person }, async (client, signal) =>
        toldToModel(await client.callTool({ name, arguments: input, options: { signal } }), maxResult),
      ),
    close: async () => {
      programs.close()
      await Promise.all([...clients.values()].map(({ http }) => http.close()))
    },
  }
}

type Speak = <T>(
  server: ToolServer,
  times: Times,
  use: (client: MCPClient, signal: AbortSignal) => Promise<T>,
) => Promise<T>

/** Quotes and what stands around a result take room, too. */
const maxAnswer = (maxResult: number) => 2 * maxResult + 64 * 1024

const noFetch = () => Promise.reject(new TypeError('a program is not fetched'))

interface Times {
  total: number
  signal: AbortSignal
  /** For whom it is, where it is for somebody. */
  person?: number
}

const never = new AbortController().signal

async function offerOf(client: MCPClient, signal: AbortSignal): Promise<ToolOffer> {
  const { serverInfo, protocolVersion } = client.initializeResult
  const tools = await listTools(client, signal)
  return { version: serverInfo.version.slice(0, 80) || null, protocolVersion: protocolVersion.slice(0, 40), ...tools }
}

/** The key as a bearer token, beside the headers of the additional configuration. */
function headersOf(vault: Vault, { apiKey, additionalConfig }: ToolServer): Record<string, string> {
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
