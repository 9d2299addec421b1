import { Readable } from 'node:stream'
import type { Agent, Dispatcher } from 'undici'
import { lazyPromise } from '../../routers/core/load/lazy-promise.ts'
import { findCurrentSpan } from '../../routers/ports/traces.ts'
import { type FaultScope, runInScope } from './fault-scope.ts'
import { OutboundError, PublicNetwork } from './public-network.ts'
import { leaveBody, toWebStream } from './response-body.ts'
import {
  type EndDetector,
  type HttpResponse,
  type ResponseHandler,
  type ResponseHead,
  StreamResponseHandler,
  type TextResponse,
  TextResponseHandler,
} from './response-handler.ts'

/** The only client for outgoing HTTP: pooled connections, time limits, a size limit, no redirects, and a check of addresses. */
export interface HttpClient {
  /** The subset of `fetch` that SDKs use: a URL, and a text body. */
  fetch: typeof globalThis.fetch
  /** Sends a request; resolves with the headers and a Node stream, which is faster than a web stream. */
  send(url: string, init: OutboundRequest): Promise<HttpResponse>
  /** Sends a request; resolves with the whole response text. */
  read(url: string, init: OutboundRequest, watch?: EndDetector): Promise<TextResponse>
  /** Number of requests whose responses have not ended. */
  readonly busy: number
  close(): Promise<void>
}

export interface OutboundRequest {
  method: Dispatcher.HttpMethod
  headers: Record<string, string>
  /** A stream is sent as it is read; if it fails, the request fails. */
  body: string | Readable | null
  signal: AbortSignal | null
}

export interface HttpClientOptions {
  /** Milliseconds until a connection must be open. */
  connectTimeout?: number | undefined
  /** Milliseconds to wait for the first and for each further byte. */
  byteTimeout?: number | undefined
  maxBytes?: number
  /** `configured` trusts the addresses, which an operator has set; `public` allows only public networks and web ports. */
  networkPolicy: 'configured' | 'public' | PublicNetwork
}

export function createHttpClient(options: HttpClientOptions): HttpClient {
  const { networkPolicy } = options
  const network = networkPolicy === 'public' ? new PublicNetwork() : networkPolicy
  let openAgent: Agent | undefined
  let isClosed = false
  const findAgent = lazyPromise(async () => {
    openAgent = await createAgent(network, options)
    if (isClosed) await openAgent.destroy()
    return openAgent
  })
  let busy = 0

  async function dispatch<Result>(
    address: string,
    { method, headers, body, signal }: OutboundRequest,
    createHandler: (signal: AbortSignal | null) => ResponseHandler<Result>,
  ): Promise<Result> {
    const url = new URL(address)
    assertHttpUrl(url)
    if (network !== 'configured') network.assertAllowed(url)
    const agent = openAgent ?? (await findAgent())
    signal?.throwIfAborted()
    const handler = createHandler(signal)
    const scope: FaultScope = { kind: 'outbound call', names: { host: url.host }, end: (error) => handler.fail(error) }
    busy++
    handler.completed.then(() => {
      busy--
      // A kept connection keeps the scope of the call that opened it, but no response.
      scope.end = ignore
    })
    const version = body instanceof Readable ? http1Only : {}
    const traceparent = network === 'configured' ? findCurrentSpan()?.findTraceparent(url) : undefined
    const sent = traceparent === undefined ? headers : { ...headers, traceparent }
    const request = { origin: url.origin, path: url.pathname + url.search, method, headers: sent, body, ...version }
    runInScope(scope, () => agent.dispatch(request, handleInScope(handler, scope)))
    return handler.response
  }
  const send: HttpClient['send'] = (url, init) => dispatch(url, init, (signal) => new StreamResponseHandler(signal))

  return {
    fetch: createFetch(send),
    send,
    read: (url, init, watch) => dispatch(url, init, (signal) => new TextResponseHandler(signal, watch)),
    get busy() {
      return busy
    },
    async close() {
      isClosed = true
      await openAgent?.destroy()
    },
  }
}

const ignore = () => {}

/** Handles a response in the scope of its call; the connection has the scope of the call that opened it. */
const handleInScope = <Result>(handler: ResponseHandler<Result>, scope: FaultScope): Dispatcher.DispatchHandler => ({
  onRequestStart: (controller) => runInScope(scope, () => handler.onRequestStart(controller)),
  onResponseStart: (controller, status, headers) =>
    runInScope(scope, () => handler.onResponseStart(controller, status, headers)),
  onResponseData: (controller, chunk) => runInScope(scope, () => handler.onResponseData(controller, chunk)),
  onResponseEnd: () => runInScope(scope, () => handler.onResponseEnd()),
  onResponseError: (controller, error) => runInScope(scope, () => handler.onResponseError(controller, error)),
})

/** For bodies that are streams: one that breaks off over HTTP/2 keeps Node in an endless loop. */
const http1Only = { allowH2: false }

interface ReceivedResponse extends ResponseHead {
  /** A string if the whole text has been read. */
  body: Readable | string
}

/** Creates a `fetch` over a function that sends requests. */
export const createFetch =
  (send: (url: string, init: OutboundRequest) => Promise<ReceivedResponse>): typeof fetch =>
  async (input, init = {}) => {
    const response = await send(input instanceof Request ? input.url : String(input), {
      method: (init.method ?? 'GET') as Dispatcher.HttpMethod,
      headers: init.headers as Record<string, string>,
      body: (init.body ?? null) as string | null,
      signal: init.signal ?? null,
    })
    return toResponse(response)
  }

/** Creates the connections. Their library is loaded with the first request, because a service without one needs less memory. */
async function createAgent(network: PublicNetwork | 'configured', options: HttpClientOptions): Promise<Agent> {
  const { connectTimeout = 10_000, byteTimeout = 120_000, maxBytes = 64 * 1024 * 1024 } = options
  const isPublic = network !== 'configured'
  const { Agent } = await import('undici')
  return new Agent({
    connect: { timeout: connectTimeout, ...(isPublic && { lookup: network.lookup }) },
    headersTimeout: byteTimeout,
    bodyTimeout: byteTimeout,
    maxResponseSize: maxBytes,
    pipelining: 1,
    // Public hosts are many and seldom repeated, so their idle connections are closed soon.
    keepAliveTimeout: isPublic ? 1000 : 30_000,
  })
}

function assertHttpUrl({ protocol, username, password }: URL): void {
  if (protocol !== 'https:' && protocol !== 'http:') throw new OutboundError('only http and https are spoken')
  if (username || password) throw new OutboundError('an address carries no credentials')
}

/** Statuses of responses without a body; `Response` rejects even an empty one. */
const statusesWithoutBody = new Set([204, 205, 304])

function toResponse({ statusCode: status, headers, body }: ReceivedResponse): Response {
  const init = { status, headers: headers as Record<string, string> }
  const isRead = typeof body === 'string'
  if (!statusesWithoutBody.has(status)) return new Response(isRead ? body : toWebStream(body), init)
  if (!isRead) leaveBody(body)
  return new Response(null, init)
}
