import { isIP } from 'node:net'
import type { FastifyRequest } from 'fastify'
import { Problem } from '../../routers/core/problems.ts'

/** The addresses at which pages and programs may call the gateway. */
export interface KnownAddresses {
  /** Address of the service. */
  baseUrl: string
  /** Origins whose pages may call it. */
  origins: readonly string[]
}

/**
 * Throws if another site may have made a browser send the request, by a page of its own or by a name that it lets resolve
 * to this machine.
 */
export function assertKnownAddress({ headers, host }: FastifyRequest, { baseUrl, origins }: KnownAddresses): void {
  const { origin } = headers
  const own = new URL(baseUrl)
  if (origin !== undefined && origin !== own.origin && !origins.includes(origin))
    throw new Problem('csrf', { detail: 'Pages of this origin may not call tools: CORS_ORIGINS does not name it.' })
  if (host !== own.host && !isOutOfReach(host))
    throw new Problem('csrf', { detail: `Tools are called at the host ${own.host}, by an IP address or a local name.` })
}

/** True if nobody can let this host resolve to an address of their choice: an IP address, or a name without a dot. */
function isOutOfReach(host: string): boolean {
  if (!URL.canParse(`http://${host}`)) return false
  const { hostname } = new URL(`http://${host}`)
  return hostname.startsWith('[') || isIP(hostname) > 0 || !hostname.includes('.')
}
