import { type ClientDocuments, HostOutage } from '../../routers/ports/client-documents.ts'
import { createHttpClient, type HttpClient } from './http-client.ts'
import { HostNotFound, OutboundError, PublicNetwork, type ResolveHost } from './public-network.ts'

const MAX_BYTES = 5 * 1024
const MAX_MS = 5000

export interface ClientDocumentsOptions {
  userAgent: string
  /** Hosts that are allowed; `*` stands for all public ones. */
  hosts: readonly string[]
  /** Our own host, which might answer this process more than strangers. */
  ownHost: string
  /** Milliseconds in which a document must be there. */
  timeout?: number
  /** Resolves names in place of DNS. */
  resolve?: ResolveHost
}

/** Creates the reader of client documents. A host that the operator names is trusted, so it may be private and have a port. */
export function createClientDocuments(options: ClientDocumentsOptions): ClientDocuments & Pick<HttpClient, 'close'> {
  const { userAgent, hosts, ownHost, timeout = MAX_MS, resolve } = options
  const limits = { connectTimeout: timeout, byteTimeout: timeout, maxBytes: MAX_BYTES }
  const publicClient = createHttpClient({
    ...limits,
    networkPolicy: new PublicNetwork({ ports: [443], refusedHosts: [ownHost], ...(resolve && { resolve }) }),
  })
  const namedClient = createHttpClient({ ...limits, networkPolicy: 'configured' })
  const headers = { accept: 'application/json', 'user-agent': userAgent }

  const findClient = ({ host }: URL) => {
    if (hosts.includes(host)) return namedClient
    return hosts.includes('*') ? publicClient : undefined
  }

  return {
    async fetch(address, signal) {
      const url = new URL(address)
      const client = findClient(url)
      if (!client || url.protocol !== 'https:') throw new OutboundError('not an allowed host')
      const deadline = AbortSignal.any([signal, AbortSignal.timeout(timeout)])
      const request = { method: 'GET', headers, body: null, signal: deadline } as const
      const {
        statusCode,
        headers: answered,
        text,
      } = await client.read(address, request).catch((error: Error) => {
        throw isOutage(error) ? new HostOutage(error.message, { cause: error }) : error
      })
      if (statusCode >= 500 || statusCode === 429) throw new HostOutage(`the host answered with ${statusCode}`)
      if (statusCode !== 200) throw new OutboundError(`the host answered with ${statusCode}`)
      if (!/^application\/([\w.-]+\+)?json\b/i.test(String(answered['content-type'])))
        throw new OutboundError('the document is no JSON')
      return { text, maxAge: readMaxAge(answered['cache-control']) }
    },
    async close() {
      await Promise.all([publicClient.close(), namedClient.close()])
    },
  }
}

/** Returns false for what was decided about the address or the text of a document, rather than suffered from its host. */
const isOutage = (error: Error & { code?: string }): boolean =>
  error instanceof HostNotFound || !(error instanceof OutboundError || error.code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE')

function readMaxAge(cacheControl: unknown): number | undefined {
  const [, seconds] = /\bmax-age=(\d{1,9})\b/i.exec(String(cacheControl ?? '')) ?? []
  return seconds === undefined ? undefined : Number(seconds)
}
