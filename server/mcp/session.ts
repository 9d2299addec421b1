import { setTimeout as pause } from 'node:timers/promises'
import { createMCPClient, type MCPClient, type MCPClientConfig, MCPClientError, type MCPTransport } from '@ai-sdk/mcp'
import { runUntilAborted } from '../../routers/core/timeout.ts'
import { type ToolServer, ToolServerError } from '../../routers/ports/ai/tool-servers.ts'
import { leaveBody } from '../net/response-body.ts'
import { findPhase } from '../net/response-handler.ts'
import { DISCOVER, type Discovery, STATELESS } from './discovery.ts'
import { isEventStream, toResumedResponse } from './resumed-response.ts'

/** Milliseconds that closing a session may take. */
const CLOSING_MS = 2000

export interface SessionSource {
  server: Pick<ToolServer, 'url' | 'transport' | 'protocolVersion'>
  headers: Record<string, string>
  fetch: typeof globalThis.fetch
  /** The answers of the server to former discoveries. */
  discovery?: Discovery | undefined
  /** Transport of a server that is a program of this host. The caller ends the program. */
  program?: MCPTransport
  /** Is called once all requests of the session have ended, which may be after the use. */
  onClosed?(): void
}

/**
 * Opens a session for one use and closes it, so that the server keeps no data of one user for the next, and any replica
 * can do it. Rejects if the connection breaks or the signal aborts; the server is then told to cancel the call.
 */
export async function withSession<T>(
  source: SessionSource,
  signal: AbortSignal,
  use: (client: MCPClient, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const disconnected = new AbortController()
  const sessionSignal = AbortSignal.any([signal, disconnected.signal])
  const requests = new SessionRequests(source)
  let client: MCPClient | undefined
  try {
    return await runUntilAborted(async () => {
      const newClient = await createMCPClient(toConfig(source, { requests, signal: sessionSignal, disconnected }))
      client = newClient
      return use(newClient, sessionSignal)
    }, sessionSignal)
  } finally {
    const cancellation = sessionSignal.aborted ? requests.cancelCall() : Promise.resolve()
    const closing = cancellation.then(() => client?.close())
    void requests.close(closing, CLOSING_MS).then(source.onClosed)
  }
}

type Config = MCPClientConfig & { experimental_events?: never }

interface ConfigParts {
  requests: SessionRequests
  signal: AbortSignal
  disconnected: AbortController
}

const toConfig = (
  { server, headers, program }: SessionSource,
  { requests, signal, disconnected }: ConfigParts,
): Config => ({
  transport: program ?? {
    type: server.transport === 'sse' ? 'sse' : 'http',
    url: server.url,
    headers,
    redirect: 'error',
    fetch: requests.fetch,
  },
  clientName: 'svc',
  protocolVersionDiscovery: server.protocolVersion === null || server.protocolVersion === STATELESS,
  initializationOptions: { signal },
  // The client wraps unreadable messages in an error class of its own; any other error means that the connection broke.
  onUncaughtError: (error) => MCPClientError.isInstance(error) || disconnected.abort(error),
})

interface SentRequest {
  url: string
  headers: Record<string, string>
  id: unknown
  method: string
}

const SESSION_HEADER = 'mcp-session-id'

/** The methods that a caller may end before their answer. */
const calls: readonly string[] = ['tools/call', 'prompts/get', 'resources/read']

/** The HTTP requests of one session, which are all aborted when it closes. */
class SessionRequests {
  readonly #fetch: typeof globalThis.fetch
  readonly #discovery: Discovery | undefined
  readonly #isSse: boolean
  readonly #closed = new AbortController()
  #call: SentRequest | undefined

  constructor({ fetch, discovery, server }: Pick<SessionSource, 'fetch' | 'discovery' | 'server'>) {
    this.#fetch = fetch
    this.#discovery = discovery
    this.#isSse = server.transport === 'sse'
  }

  readonly fetch: typeof globalThis.fetch = async (input, init = {}) => {
    const signals = init.signal ? [init.signal, this.#closed.signal] : [this.#closed.signal]
    const signal = AbortSignal.any(signals)
    const request = readRequest(String(input), init)
    if (request && calls.includes(request.method)) this.#call = request
    const isServerStream = (init.method ?? 'GET') === 'GET' && !this.#isSse
    if (isServerStream) return this.#openServerStream(input, { ...init, signal })
    const send = () => this.#fetch(input, { ...init, signal })
    const isDiscovery = request?.method === DISCOVER
    const response = await (isDiscovery && this.#discovery ? this.#discovery.answer(request.id, send) : send())
    return request && isEventStream(response) ? this.#resumable(response, request, signal) : response
  }

  /** Opens the stream of the server's own requests. A session goes on without it, whatever happens to it. */
  async #openServerStream(input: Parameters<typeof fetch>[0], init: RequestInit): Promise<Response> {
    const { [SESSION_HEADER]: session } = init.headers as Record<string, string>
    const response = session ? await this.#fetch(input, init).catch(() => undefined) : undefined
    if (!response?.ok || !isEventStream(response)) {
      leaveBody(response?.body)
      return new Response(null, { status: 405 })
    }
    const { status, headers } = response
    return new Response(ReadableStream.from(readUntilBroken(response)), { status, headers })
  }

  #resumable(response: Response, { id, url, headers: sent }: SentRequest, signal: AbortSignal): Response {
    const headers = new Headers(sent)
    headers.delete('content-type')
    headers.set('accept', 'text/event-stream')
    const sendRequest = this.#fetch
    const session = response.headers.get(SESSION_HEADER)
    if (session) headers.set(SESSION_HEADER, session)
    return toResumedResponse(response, {
      id,
      signal,
      resume(lastEventId) {
        headers.set('last-event-id', lastEventId)
        return sendRequest(url, { headers: Object.fromEntries(headers), signal })
      },
    })
  }

  /** Sends a cancellation, because revisions with sessions do not take a closed connection as one. */
  async cancelCall(): Promise<void> {
    if (!this.#call) return
    const { url, headers, id } = this.#call
    const params = { requestId: id, reason: 'The caller went away.' }
    const body = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params })
    const init = { method: 'POST', body, signal: this.#closed.signal, headers }
    // A server that cannot be reached has lost the connection anyway.
    const response = await this.#fetch(url, init).catch(() => undefined)
    leaveBody(response?.body)
  }

  /** Aborts the remaining requests once the session is closed, or the time for closing is up. */
  async close(closing: Promise<void>, ms: number): Promise<void> {
    await Promise.race([closing, pause(ms, undefined, { ref: false })]).catch(() => {})
    this.#closed.abort()
  }
}

/** Reads the JSON-RPC request of a body; notifications and answers are no requests. */
function readRequest(url: string, { body, headers }: RequestInit): SentRequest | undefined {
  const message = typeof body === 'string' ? (JSON.parse(body) as { id?: unknown; method?: string }) : {}
  if (message.id === undefined || message.method === undefined) return undefined
  return { url, headers: headers as Record<string, string>, id: message.id, method: message.method }
}

/** Reads a stream until it ends or breaks, which the client would take for the end of the session. */
async function* readUntilBroken({ body }: Response): AsyncGenerator<Uint8Array, void> {
  try {
    yield* body as ReadableStream<Uint8Array>
  } catch {
    // The stream is optional.
  }
}

/** Throws an error without the server's own message, which may quote the question or be meant for a model. */
export function throwToolServerError(error: unknown, signal: AbortSignal): never {
  if (signal.aborted || error instanceof ToolServerError) throw error
  throw new ToolServerError(describeError(error), { cause: error })
}

function describeError(error: unknown): string {
  const { name, code, statusCode } = (error ?? {}) as { name?: string; code?: unknown; statusCode?: number }
  if (name === 'TimeoutError' || /TIMEOUT/.test(String(code))) return 'it did not answer in time'
  if (code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE') return 'its answer is too large'
  if (statusCode) return `it answered with the status ${statusCode}`
  if (MCPClientError.isInstance(error) && error.code !== undefined) return `it refused with the code ${error.code}`
  if (findPhase(error)) return typeof code === 'string' ? `the connection failed: ${code}` : 'the connection failed'
  return 'it does not speak the protocol as it should'
}
