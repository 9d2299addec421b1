import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { ContextResolver } from '../../facades/http/procedures.ts'
import { type Context, createContext } from '../../routers/core/context.ts'
import { Problem } from '../../routers/core/problems.ts'
import type { Services } from '../../routers/core/services.ts'
import { toCaller } from '../../routers/identity/session-caller.ts'
import type { BrowserSession } from '../../routers/ports/session.ts'
import type { Authenticated, Authenticator } from './authenticator.ts'
import { type BrowserOptions, findStoredSession, RequestBrowser } from './browser-session.ts'
import { assertSameOrigin } from './csrf.ts'
import { chooseLocale } from './request-locale.ts'

interface AuthenticatedRequest extends Authenticated {
  browser?: BrowserSession
}

interface AuthenticateOptions extends BrowserOptions {
  authenticator: Authenticator
  /** Origin of our own pages. */
  origin: string
}

type Authenticate = (request: FastifyRequest, reply: FastifyReply) => Promise<AuthenticatedRequest>

/** Creates a function that authenticates a request by its session or, without one, by its token. */
function createRequestAuthentication(options: AuthenticateOptions, { shouldRenew = true } = {}): Authenticate {
  const { authenticator, origin } = options

  return async (request, reply) => {
    const { authorization } = request.headers
    const session = findStoredSession(request)
    if (!session && authorization !== undefined)
      return await authenticator.authenticateBearer(authorization, readPath(request))
    assertSameOrigin(request, origin, session)
    const browser = new RequestBrowser(options, request, reply)
    if (shouldRenew) browser.renew()
    return { caller: session ? toCaller(session.subject) : { type: 'guest' }, usage: 'main', browser }
  }
}

/** Functions that return the context of a request, by how the caller is authenticated. */
export interface Contexts {
  /** Authenticates by session or token. */
  resolveContext: ContextResolver
  /** Authenticates by session or token, without renewing the session. */
  peekContext: ContextResolver
  /** Authenticates by token only. */
  resolveTokenContext: ContextResolver
  /** Returns the context of a guest, even if the request has credentials. */
  resolveGuestContext: ContextResolver
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The context, which is created at its first use. */
    callContext: Promise<Context> | null
  }
}

export async function createContexts(
  app: FastifyInstance,
  services: Services,
  authenticator: Authenticator,
): Promise<Contexts> {
  const { settings, sql } = services
  const { sources: loginSources } = services.login
  const options = {
    authenticator,
    sql,
    origin: new URL(settings.baseUrl).origin,
    header: (await loginSources()).header,
    lifetime: settings.sessionLifetime,
  }
  app.decorateRequest('callContext', null)
  app.decorateRequest('context', null)

  /** Creates one context for each request. */
  const once =
    (authenticate: Authenticate): ContextResolver =>
    (request, reply) =>
      (request.callContext ??= createRequestContext(services, authenticate, request, reply))
  return {
    resolveContext: once(createRequestAuthentication(options)),
    peekContext: once(createRequestAuthentication(options, { shouldRenew: false })),
    resolveTokenContext: once((request) =>
      authenticator.authenticateBearer(request.headers.authorization, readPath(request)),
    ),
    resolveGuestContext: async ({ id: requestId, ip: address }, reply) =>
      createContext(services, { requestId, address, signal: createCloseSignal(reply) }),
  }
}

/** Returns the path of a request as it was sent; a program's token is good for some paths only. */
const readPath = ({ url }: FastifyRequest) => url.split('?', 1)[0]?.replace(/(?<=.)\/$/, '') ?? ''

async function createRequestContext(
  services: Services,
  authenticate: Authenticate,
  request: FastifyRequest,
  reply: FastifyReply,
) {
  const authenticated = await authenticate(request, reply).catch((error: unknown) => {
    throw toProblem(error, request.id)
  })
  const locale = chooseLocale(request, authenticated.browser?.session?.locale)
  const origin = { address: request.ip, requestId: request.id }
  const call = { ...authenticated, ...origin, locale, signal: createCloseSignal(reply), ...watchReader(reply) }
  request.context = createContext(services, call)
  return request.context
}

/** Creates the functions that end a response which its client does not read. */
function watchReader({ raw }: FastifyReply) {
  const hangUp = () => void raw.destroy()
  const isUnread = () => raw.writableNeedDrain || (raw.writableEnded && !raw.writableFinished)
  const hangUpUnread = () => void (isUnread() && hangUp())
  // The calls of a batch share one response.
  const watchers: (() => void)[] = []
  const watchUnread = (ms: number, onUnread: () => void) => {
    if (watchers.push(onUnread) > 1) return
    // The time begins anew with each byte that the system takes or the client sends.
    raw.setTimeout(ms, () => {
      if (!isUnread()) return
      for (const report of watchers) report()
      hangUp()
    })
  }
  return { hangUp, hangUpUnread, watchUnread }
}

/** Converts an error to a problem with the id of the request, which has no context yet. */
function toProblem(error: unknown, requestId: string): Problem {
  const problem = error instanceof Problem ? error : new Problem('unavailable', { cause: error })
  problem.requestId = requestId
  return problem
}

/** The abort reason that all ended responses share. */
const RESPONSE_ENDED = new DOMException('The answer has ended.', 'AbortError')

/** Creates a signal that is aborted when the response is complete or its connection is closed, because nobody needs further results then. */
function createCloseSignal({ raw }: FastifyReply): () => AbortSignal {
  let controller: AbortController | undefined
  const end = () => controller?.abort(RESPONSE_ENDED)
  return () => {
    if (controller) return controller.signal
    controller = new AbortController()
    if (raw.closed) end()
    else raw.once('close', end)
    return controller.signal
  }
}
