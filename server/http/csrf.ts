import type { FastifyRequest } from 'fastify'
import { Problem } from '../../routers/core/problems.ts'
import { hasCsrfToken, type SessionRecord } from '../../routers/ports/session.ts'

/** Whether the browser says that the request comes from our own pages. */
function isOwn({ headers }: FastifyRequest, origin: string): boolean {
  return headers['sec-fetch-site'] === 'same-origin' || headers.origin === origin
}

/** Of a request with both a session and a token, the session counts only if our own pages sent it: no other can have meant it. */
export const sessionCounts =
  (origin: string) =>
  (request: FastifyRequest): boolean =>
    request.headers.authorization === undefined || isOwn(request, origin)

const harmless = ['GET', 'HEAD', 'OPTIONS']

/** Refuses a request that another site could have made a browser send. A request without a session is refused only if
 * its headers say that it comes from another site. */
export function assertSameOrigin(request: FastifyRequest, origin: string, session: SessionRecord | undefined): void {
  if (harmless.includes(request.method) || isOwn(request, origin)) return
  const { 'x-csrf-token': token, 'sec-fetch-site': site, origin: from } = request.headers
  if (session && typeof token === 'string' && hasCsrfToken(session, token)) return
  if (!session && from === undefined && (site === undefined || site === 'none')) return
  throw new Problem('csrf')
}
