import type { FastifyRequest } from 'fastify'
import { isNavigation } from '../../facades/http/navigation.ts'
import type { Log } from '../../routers/ports/log.ts'

const MAX_HOSTS = 5

/**
 * Tells the log, once for each of a few hosts, that people open the service at another address than BASE_URL says: then
 * sign-in elsewhere, links and the check of `Origin` fail. Looks only at pages that a browser opens; probes and programs
 * may use whatever address leads here.
 */
export function createAddressCheck(baseUrl: string, log: Log): (request: FastifyRequest) => void {
  const expected = hostOf(baseUrl)
  const told = new Set<string>()
  return (request) => {
    if (request.method !== 'GET' || !isNavigation(request)) return
    const host = openedAt(request)
    if (!host || host === expected || told.size === MAX_HOSTS || told.has(host)) return
    told.add(host)
    log.warn(
      { host, baseUrl },
      'The service was opened at another address than BASE_URL. Set BASE_URL to the address that people use.',
    )
  }
}

/** A proxy may rewrite Host; Fastify takes the original one from X-Forwarded-Host if it trusts the proxy. */
function openedAt({ headers, host, protocol }: FastifyRequest): string | undefined {
  const forwarded = headers['x-forwarded-host']
  const isProxied = [forwarded, headers['x-forwarded-for'], headers.forwarded, headers.via].some(Boolean)
  if (isProxied && forwarded !== host) return undefined
  return hostOf(`${protocol}://${host}`)
}

/** Host and port, with one name for all names of this machine; undefined if the text is no host. */
function hostOf(url: string): string | undefined {
  if (!URL.canParse(url)) return undefined
  return new URL(url).host.replace(/^(127\.0\.0\.1|\[::1\])(?=:|$)/, 'localhost').slice(0, 100)
}
