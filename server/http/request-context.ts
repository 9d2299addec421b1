import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ContextOf } from '../../facades/http/request-context.ts'
import { type Context, createContext } from '../../routers/core/context.ts'
import { Problem } from '../../routers/core/problems.ts'
import type { Services } from '../../routers/core/services.ts'
import type { Env } from '../config/settings.ts'
import { createSessions } from '../stores/sessions.ts'
import { createIdentify, type Identify } from './authenticate.ts'
import type { Callers } from './credentials.ts'
import { localeOf } from './request-locale.ts'

/** The contexts of requests, by how the caller is found out. */
export interface Contexts {
  /** By session or token. */
  contextOf: ContextOf
  /** The same, without using the session: its time goes on. */
  peekContextOf: ContextOf
  /** By token only. */
  tokenContextOf: ContextOf
  /** A guest's, whatever the request carries. */
  guestContextOf: ContextOf
  /** What a request had, if it had one that counts. */
  made(request: FastifyRequest): Promise<Context | undefined>
}

/** Where a request holds its context: a weak map of all requests would be gone through each time memory is collected. */
const CONTEXT = Symbol('context')
type Known = FastifyRequest & { [CONTEXT]?: Promise<Context> }

export async function createContexts(env: Env, services: Services, callers: Callers): Promise<Contexts> {
  const { bySession, peeking, byToken } = await waysToIdentify(env, services, callers)

  /** The same one for everybody who asks during the life of a request. */
  const once =
    (identify: Identify): ContextOf =>
    (request: Known, reply) =>
      (request[CONTEXT] ??= makeContext(services, identify, request, reply))
  return {
    contextOf: once(bySession),
    peekContextOf: once(peeking),
    tokenContextOf: once(byToken),
    guestContextOf: async ({ id: requestId }, reply) =>
      createContext(services, { requestId, signal: goneSignal(reply) }),
    made: async (request: Known) => request[CONTEXT]?.catch(() => undefined),
  }
}

async function waysToIdentify(env: Env, services: Services, callers: Callers) {
  const { origin, protocol } = new URL(services.settings.baseUrl)
  const options = {
    callers,
    origin,
    sessions: createSessions(services.kv, env.SESSION_LIFETIME),
    header: (await services.loginSources()).header,
    secure: env.NODE_ENV === 'production' || protocol === 'https:',
  }
  const byToken: Identify = ({ headers }) => callers.byTokenOnly(headers.authorization)
  return { bySession: createIdentify(options), peeking: createIdentify(options, { renews: false }), byToken }
}

async function makeContext(services: Services, identify: Identify, request: FastifyRequest, reply: FastifyReply) {
  const identified = await identify(request, reply).catch((error: unknown) => {
    throw refused(error, request.id)
  })
  const locale = localeOf(request, identified.browser?.session?.locale)
  const hangUp = () => void reply.raw.destroy()
  return createContext(services, { ...identified, locale, requestId: request.id, signal: goneSignal(reply), hangUp })
}

/** A refusal at the door has no context to take the request's id from. */
function refused(error: unknown, requestId: string): Problem {
  const problem = error instanceof Problem ? error : new Problem('unavailable', { cause: error })
  problem.requestId = requestId
  return problem
}

/** Ends when the connection closes before the answer is complete. */
function goneSignal({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController()
  raw.once('close', () => {
    if (!raw.writableFinished) gone.abort()
  })
  return gone.signal
}
