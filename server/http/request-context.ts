import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { ContextOf } from '../../facades/http/procedures.ts'
import { type Context, createContext } from '../../routers/core/context.ts'
import { Problem } from '../../routers/core/problems.ts'
import type { Services } from '../../routers/core/services.ts'
import { toCaller } from '../../routers/identity/session-caller.ts'
import type { BrowserSession } from '../../routers/ports/session.ts'
import { type BrowserOptions, RequestBrowser, storedSession } from './browser-session.ts'
import type { Authenticated, Authenticator } from './credentials.ts'
import { assertSameOrigin } from './csrf.ts'
import { chooseLocale } from './request-locale.ts'

interface AuthenticatedRequest extends Authenticated {
  browser?: BrowserSession
}

interface AuthenticateOptions extends BrowserOptions {
  authenticator: Authenticator
  /** The origin of our own pages. */
  origin: string
}

type Authenticate = (request: FastifyRequest, reply: FastifyReply) => Promise<AuthenticatedRequest>

/** Authenticates a request by its session or, without one, by its token. */
function createAuthenticate(options: AuthenticateOptions, { renews = true } = {}): Authenticate {
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

/** The contexts of requests, by how the caller is authenticated. */
export interface Contexts {
  /** By session or token. */
  contextOf: ContextOf
  /** By session or token, without renewing the session. */
  peekContextOf: ContextOf
  /** By token only. */
  tokenContextOf: ContextOf
  /** The context of a guest, even if the request has credentials. */
  guestContextOf: ContextOf
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Created on first use. */
    callContext: Promise<Context> | null
  }
}

export async function createContexts(
  app: FastifyInstance,
  services: Services,
  authenticator: Authenticator,
): Promise<Contexts> {
  const { bySession, peeking, byToken } = await waysToAuthenticate(services, authenticator)
  app.decorateRequest('callContext', null)
  app.decorateRequest('context', null)

  /** One context for each request, created once. */
  const once =
    (authenticate: Authenticate): ContextOf =>
    (request, reply) =>
      (request.callContext ??= makeContext(services, authenticate, request, reply))
  return {
    contextOf: once(bySession),
    peekContextOf: once(peeking),
    tokenContextOf: once(byToken),
    guestContextOf: async ({ id: requestId }, reply) =>
      createContext(services, { requestId, signal: goneSignal(reply) }),
  }
}

async function waysToAuthenticate({ settings, sql, loginSources }: Services, authenticator: Authenticator) {
  const options = {
    authenticator,
    sql,
    origin: new URL(settings.baseUrl).origin,
    header: (await loginSources()).header,
    lifetime: settings.sessionLifetime,
  }
  const byToken: Authenticate = ({ headers }) => authenticator.authenticateBearer(headers.authorization)
  return {
    bySession: createAuthenticate(options),
    peeking: createAuthenticate(options, { renews: false }),
    byToken,
  }
}

async function makeContext(
  services: Services,
  authenticate: Authenticate,
  request: FastifyRequest,
  reply: FastifyReply,
) {
  const authenticated = await authenticate(request, reply).catch((error: unknown) => {
    throw toProblem(error, request.id)
  })
  const locale = chooseLocale(request, authenticated.browser?.session?.locale)
  const { raw } = reply
  const hangUp = () => void raw.destroy()
  const isUnread = () => raw.writableNeedDrain || (raw.writableEnded && !raw.writableFinished)
  const hangUpUnread = () => void (isUnread() && hangUp())
  const origin = { address: request.ip, requestId: request.id }
  const call = { ...authenticated, ...origin, locale, signal: goneSignal(reply), hangUp, hangUpUnread }
  request.context = createContext(services, call)
  return request.context
}

/** A request refused before it has a context gets its id here. */
function toProblem(error: unknown, requestId: string): Problem {
  const problem = error instanceof Problem ? error : new Problem('unavailable', { cause: error })
  problem.requestId = requestId
  return problem
}

/** Aborts when the answer is complete or its connection closed: what is not begun by then, nobody will take. */
function goneSignal({ raw }: FastifyReply): () => AbortSignal {
  let gone: AbortController | undefined
  const end = () => gone?.abort(new DOMException('The answer has ended.', 'AbortError'))
  return () => {
    if (gone) return gone.signal
    gone = new AbortController()
    if (raw.closed) end()
    else raw.once('close', end)
    return gone.signal
  }
}
