import { pipeline, type Readable, type Transform } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import type { WebReader, WebRequest } from '../../routers/ports/web-reader.ts'
import { createHttpClient, type HttpClient } from './http-client.ts'
import { OutboundError, PublicNetwork, type PublicNetworkOptions } from './public-network.ts'
import { leaveBody } from './response-body.ts'
import type { HttpResponse } from './response-handler.ts'

const MAX_REDIRECTS = 5

/** Largest response in bytes; it also stops endless responses whose reader skips content. */
const MAX_BYTES = 16 * 1024 * 1024

export interface WebReaderOptions extends PublicNetworkOptions {
  /** The `User-Agent` of requests. */
  userAgent: string
}

export function createWebReader({ userAgent, ...network }: WebReaderOptions): WebReader & Pick<HttpClient, 'close'> {
  const client = createHttpClient({
    connectTimeout: 3000,
    byteTimeout: 5000,
    maxBytes: MAX_BYTES,
    networkPolicy: new PublicNetwork(network),
  })

  /** Follows redirects itself, so that each hop is checked like the first. */
  async function follow(address: string, accept: string, signal: AbortSignal) {
    const headers = { accept, 'accept-encoding': 'gzip, br, deflate', 'user-agent': userAgent }
    let url = new URL(address)
    for (let hops = 0; hops <= MAX_REDIRECTS; hops++) {
      const response = await client.send(url.href, { method: 'GET', headers, body: null, signal })
      const target = findRedirect(response)
      if (target === undefined) return { url: url.href, response }
      leaveBody(response.body)
      url = resolveRedirect(target, url)
    }
    throw new OutboundError('too many redirects')
  }

  async function open(address: string, { accept, kinds, timeout, signal }: WebRequest) {
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(timeout)])
    const { url, response } = await follow(address, accept, deadline)
    try {
      const { 'content-type': type = '', 'content-encoding': coding = 'identity' } = response.headers
      if (response.statusCode !== 200) throw new OutboundError(`the site answered with ${response.statusCode}`)
      if (!kinds.some((kind) => type.toLowerCase().startsWith(kind))) throw new OutboundError('not of these kinds')
      return { url, charset: findCharset(type), body: decompress(response.body, coding.trim().toLowerCase()) }
    } catch (error) {
      leaveBody(response.body)
      throw error
    }
  }

  return { open, close: client.close }
}

const redirectStatuses = new Set([301, 302, 303, 307, 308])

const findRedirect = ({ statusCode, headers: { location } }: HttpResponse) =>
  redirectStatuses.has(statusCode) ? location : undefined

function resolveRedirect(target: string, from: URL): URL {
  if (!URL.canParse(target, from.href)) throw new OutboundError('the redirect leads nowhere')
  const next = new URL(target, from.href)
  // An attacker between us and a site without TLS could inject any content.
  if (from.protocol === 'https:' && next.protocol === 'http:') throw new OutboundError('the redirect gives up TLS')
  return next
}

const decoders: Partial<Record<string, () => Transform>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  br: createBrotliDecompress,
  deflate: createInflate,
}

/** Decompresses a body as it is read, so that the reader's limit also bounds decompressed bytes. */
function decompress(body: Readable, coding: string): AsyncIterable<Uint8Array> {
  if (coding === 'identity' || coding === '') return body
  const decoder = decoders[coding]
  if (!decoder) throw new OutboundError('an unknown content coding')
  // The reader of the last stream gets the error.
  return pipeline(body, decoder(), () => {})
}

const findCharset = (type: string) => /;\s*charset\s*=\s*"?([\w:.-]{1,40})/i.exec(type)?.[1]
