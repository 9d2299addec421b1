import { Readable } from 'node:stream'
import { Agent, type Dispatcher } from 'undici'
import { findCurrentSpan } from '../../routers/ports/traces.ts'
import type { Exchange, ResponseHead } from './exchange.ts'
import { OutboundError, PublicNetwork } from './public-network.ts'
import { type HttpResponse, ResponseStream } from './response-stream.ts'
import { type EndWatch, ResponseText, type TextResponse } from './response-text.ts'

/** The only client for outgoing HTTP: pooled connections, time limits, a size limit, no redirects, and a check of the addresses. */
export interface HttpClient {
  /** The part of `fetch` that SDKs use: an address, and a body of text. */
  fetch: typeof globalThis.fetch
  /** Sends a request; its response is read without web streams, which are slow. */
  send(url: string, init: OutboundRequest): Promise<HttpResponse>
  /** Sends a request and waits for all of its response, which is text. */
  read(url: string, init: OutboundRequest, watch?: EndWatch): Promise<TextResponse>
  /** How many requests are under way, up to the end of their answers. */
  readonly busy: number
  close(): Promise<void>
}

export interface OutboundRequest {
  method: Dispatcher.HttpMethod
  headers: Record<string, string>
  /** A stream is sent as it is read, and ends the request where it breaks off. */
  body: string | Readable | null
  signal: AbortSignal | null
}

export interface HttpClientOptions {
  /** In milliseconds: to connect, and to wait for the first and for each further byte. */
  connectTimeout?: number | undefined
  byteTimeout?: number | undefined
  maxBytes?: number
  /** `configured` trusts addresses an operator wrote down; `public` reaches no private network, and web ports only. */
  networkPolicy: 'configured' | 'public' | PublicNetwork
}

export function createHttpClient(options: HttpClientOptions): HttpClient {
  const { networkPolicy } = options
  const network = networkPolicy === 'public' ? new PublicNetwork() : networkPolicy
  const agent = agentFor(network, options)
  let busy = 0

  async function exchange<Answer>(
    address: string,
    { method, headers, body, signal }: OutboundRequest,
    begin: (signal: AbortSignal | null) => Exchange<Answer>,
  ): Promise<Answer> {
    const url = new URL(address)
    assertSpoken(url)
    if (network !== 'configured') network.assertAllowed(url)
    signal?.throwIfAborted()
    const handler = begin(signal)
    busy++
    handler.over.then(() => busy--)
    const version = body instanceof Readable ? overHttp1 : {}
    const traceparent = network === 'configured' ? findCurrentSpan()?.findTraceparent(url) : undefined
    const sent = traceparent === undefined ? headers : { ...headers, traceparent }
    agent.dispatch(
      { origin: url.origin, path: url.pathname + url.search, method, headers: sent, body, ...version },
      handler,
    )
    return handler.answer
  }
  const send: HttpClient['send'] = (url, init) => exchange(url, init, (signal) => new ResponseStream(signal))

  return {
    fetch: fetchBy(send),
    send,
    read: (url, init, watch) => exchange(url, init, (signal) => new ResponseText(signal, watch)),
    get busy() {
      return busy
    },
    close: () => agent.destroy(),
  }
}

/** For bodies that are streams: one that breaks off over HTTP/2 keeps Node in an endless loop. */
const overHttp1 = { allowH2: false }

interface Received extends ResponseHead {
  /** Text where all of it has been read. */
  body: Readable | string
}

/** `fetch` by what sends requests. */
export const fetchBy =
  (send: (url: string, init: OutboundRequest) => Promise<Received>): typeof fetch =>
  async (input, init = {}) => {
    const answer = await send(input instanceof Request ? input.url : String(input), {
      method: (init.method ?? 'GET') as Dispatcher.HttpMethod,
      headers: init.headers as Record<string, string>,
      body: (init.body ?? null) as string | null,
      signal: init.signal ?? null,
    })
    return toResponse(answer)
  }

function agentFor(network: PublicNetwork | 'configured', options: HttpClientOptions): Agent {
  const { connectTimeout = 10_000, byteTimeout = 120_000, maxBytes = 64 * 1024 * 1024 } = options
  const isPublic = network !== 'configured'
  return new Agent({
    connect: { timeout: connectTimeout, ...(isPublic && { lookup: network.lookup }) },
    headersTimeout: byteTimeout,
    bodyTimeout: byteTimeout,
    maxResponseSize: maxBytes,
    pipelining: 1,
    // Strangers name many hosts, none of which is worth a connection that waits.
    keepAliveTimeout: isPublic ? 1000 : 30_000,
  })
}

function assertSpoken({ protocol, username, password }: URL): void {
  if (protocol !== 'https:' && protocol !== 'http:') throw new OutboundError('only http and https are spoken')
  if (username || password) throw new OutboundError('an address carries no credentials')
}

/** Statuses whose answer has no body, not even an empty one. */
const bodyless = new Set([204, 205, 304])

function toResponse({ statusCode: status, headers, body }: Received): Response {
  const init = { status, headers: headers as Record<string, string> }
  const isRead = typeof body === 'string'
  if (!bodyless.has(status)) return new Response(isRead ? body : (Readable.toWeb(body) as ReadableStream), init)
  if (!isRead) body.resume()
  return new Response(null, init)
}
