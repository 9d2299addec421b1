import type { FastifyRequest } from 'fastify'
import { Problem } from '../../routers/core/problems.ts'
import { hasCsrfToken, type SessionRecord } from '../../routers/ports/session.ts'

/** Returns whether the browser says that the request comes from our own pages. */
function isFromOwnPages({ headers }: FastifyRequest, origin: string): boolean {
  return headers['sec-fetch-site'] === 'same-origin' || headers.origin === origin
}

/** Creates a filter of sessions: if a request also has a token, the session only counts if our own pages sent the request. */
export const createSessionFilter =
  (origin: string) =>
  (request: FastifyRequest): boolean =>
    request.headers.authorization === undefined || isFromOwnPages(request, origin)

const safeMethods = ['GET', 'HEAD', 'OPTIONS']

/**
 * Throws if another site may have made the browser send the request. A request without a session is refused only if its headers
 * name another site.
 */
export function assertSameOrigin(request: FastifyRequest, origin: string, session: SessionRecord | undefined): void {
  if (safeMethods.includes(request.method) || isFromOwnPages(request, origin)) return
  const { 'x-csrf-token': token, 'sec-fetch-site': site, origin: from } = request.headers
  if (session && typeof token === 'string' && hasCsrfToken(session, token)) return
  if (!session && from === undefined && (site === undefined || site === 'none')) return
  throw new Problem('csrf')
}
