import type { ClientDocuments } from '../../routers/ports/client-documents.ts'
import { createHttpClient, type HttpClient } from './http-client.ts'
import { OutboundError, PublicNetwork } from './public-network.ts'

const MAX_BYTES = 5 * 1024
const MAX_MS = 5000

export interface ClientDocumentsOptions {
  userAgent: string
  /** Hosts that are allowed; `*` stands for all public ones. */
  hosts: readonly string[]
  /** Our own host, which might answer this process more than strangers. */
  ownHost: string
}

/** Creates the reader of client documents. A host that the operator names is trusted, so it may be private and have a port. */
export function createClientDocuments(options: ClientDocumentsOptions): ClientDocuments & Pick<HttpClient, 'close'> {
  const { userAgent, hosts, ownHost } = options
  const limits = { connectTimeout: MAX_MS, byteTimeout: MAX_MS, maxBytes: MAX_BYTES }
  const publicClient = createHttpClient({
    ...limits,
    networkPolicy: new PublicNetwork({ ports: [443], refusedHosts: [ownHost] }),
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
      const deadline = AbortSignal.any([signal, AbortSignal.timeout(MAX_MS)])
      const response = await client.read(address, { method: 'GET', headers, body: null, signal: deadline })
      const { statusCode, headers: answered, text } = response
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

function readMaxAge(cacheControl: unknown): number | undefined {
  const [, seconds] = /\bmax-age=(\d{1,9})\b/i.exec(String(cacheControl ?? '')) ?? []
  return seconds === undefined ? undefined : Number(seconds)
}
