import type { FastifyReply, FastifyRequest } from 'fastify'
import { toCaller } from '../../routers/identity/session-caller.ts'
import type { BrowserSession } from '../../routers/ports/session.ts'
import { type BrowserOptions, RequestBrowser, storedSession } from './browser-session.ts'
import type { Authenticated, Authenticator } from './credentials.ts'
import { assertSameOrigin } from './csrf.ts'

interface AuthenticatedRequest extends Authenticated {
  browser?: BrowserSession
}

export interface AuthenticateOptions extends BrowserOptions {
  authenticator: Authenticator
  /** The origin of our own pages. */
  origin: string
}

export type Authenticate = (request: FastifyRequest, reply: FastifyReply) => Promise<AuthenticatedRequest>

/** Authenticates a request by its session or, without one, by its token. */
export function createAuthenticate(options: AuthenticateOptions, { renews = true } = {}): Authenticate {
  const { authenticator, origin } = options

  return async (request, reply) => {
    const { authorization } = request.headers
    const session = storedSession(request)
    if (!session && authorization !== undefined) return await authenticator.authenticateBearer(authorization)
    assertSameOrigin(request, origin, session)
    const browser = new RequestBrowser(options, request, reply)
    if (renews) browser.renew()
    return { caller: session ? toCaller(session.subject) : { type: 'guest' }, usage: 'main', browser }
  }
}
