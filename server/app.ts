import { randomUUID } from 'node:crypto'
import fastifyHelmet from '@fastify/helmet'
import fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify'
import { failureOf } from '../facades/failure.ts'
import { health } from '../facades/health.ts'
import { jsonApi } from '../facades/json-api/index.ts'
import { basePath } from '../facades/json-api/wire.ts'
import { legacy } from '../facades/legacy.ts'
import type { ContextOf } from '../facades/request-context.ts'
import { trpc } from '../facades/trpc.ts'
import { type Context, createContext, type Services } from '../routers/context.ts'
import { appRouter, resources } from '../routers/index.ts'
import { Problem } from '../routers/problems.ts'
import type { Callers } from './callers.ts'
import { localeOf } from './locale.ts'
import type { Env } from './settings.ts'

export interface AppOptions {
  env: Env
  services: Services
  callers: Callers
  log: FastifyBaseLogger
  isDraining: () => boolean
}

/** All faces of the service on one HTTP server, which does not listen yet. */
export async function buildApp({ env, services, callers, log, isDraining }: AppOptions): Promise<FastifyInstance> {
  const app = fastify({
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    genReqId: () => randomUUID(),
    bodyLimit: env.AI_MAX_BODY,
    trustProxy: env.TRUSTED_PROXIES.length > 0 ? env.TRUSTED_PROXIES : false,
    forceCloseConnections: 'idle',
    // The names of all procedures in a batch are one parameter.
    routerOptions: { maxParamLength: 5000 },
    // A slow sender must not hold a connection for ever.
    requestTimeout: 120_000,
  })
  const { contextOf, tokenContextOf, guestContextOf, forget } = contexts(services, callers)

  await app.register(fastifyHelmet, { contentSecurityPolicy: { directives: { defaultSrc: ["'none'"] } } })
  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id)
    if (isDraining() && !request.url.startsWith('/health')) refuseWork(reply)
  })
  app.addHook('onResponse', async (request, reply) => {
    logRequest(request, reply, await forget(request))
  })
  app.setErrorHandler((thrown, request, reply) => {
    const { status, code, message, error } = failureOf(thrown)
    if (status >= 500) request.log.error({ error: error.cause ?? error }, code)
    return reply.code(status).send({ success: false, message, code, requestId: request.id })
  })
  app.setNotFoundHandler(() => {
    throw new Problem('not_found', { detail: 'There is nothing at this address.' })
  })

  await app.register(health, { guestContextOf, isDraining })
  await app.register(legacy, { contextOf: tokenContextOf, maxBody: env.AI_MAX_BODY, heartbeat: env.AI_HEARTBEAT })
  await app.register(trpc, { contextOf, maxBody: env.AI_MAX_BODY })
  await app.register(jsonApi, {
    prefix: basePath,
    router: appRouter,
    resources,
    contextOf,
    baseUrl: env.BASE_URL ?? '',
  })
  return app
}

/** While the service stops; another replica, or the next start, takes it. */
function refuseWork(reply: FastifyReply): never {
  reply.headers({ connection: 'close', 'retry-after': 5 })
  throw new Problem('unavailable')
}

/** Contexts by request: the same one for everybody who asks during its life. */
function contexts(services: Services, callers: Callers) {
  const known = new WeakMap<FastifyRequest, Promise<Context>>()

  const identifying =
    (identify: Callers['byBearer']): ContextOf =>
    async (request, reply) => {
      const { caller, usage } = await identify(request.headers.authorization).catch((error: unknown) => {
        throw refused(error, request.id)
      })
      const locale = localeOf(request)
      return createContext(services, { caller, usage, locale, requestId: request.id, signal: goneSignal(reply) })
    }

  const once =
    (make: ContextOf): ContextOf =>
    (request, reply) => {
      const context = known.get(request) ?? make(request, reply)
      known.set(request, context)
      return context
    }
  const contextOf = once(identifying(callers.byBearer))
  const tokenContextOf = once(identifying(callers.byTokenOnly))
  const guestContextOf: ContextOf = async (request, reply) =>
    createContext(services, { requestId: request.id, signal: goneSignal(reply) })
  const forget = (request: FastifyRequest) => known.get(request)?.catch(() => undefined)
  return { contextOf, tokenContextOf, guestContextOf, forget }
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

/** Paths as they are declared: what stands in an address may be a secret. */
function logRequest(request: FastifyRequest, reply: FastifyReply, ctx: Context | undefined): void {
  const current = ctx?.caller.current
  const caller = current?.type === 'user' ? { userId: current.person.id, tokenId: current.token?.id } : undefined
  const { method, routeOptions } = request
  const ms = Math.round(reply.elapsedTime * 10) / 10
  request.log.info({ method, route: routeOptions.url, status: reply.raw.statusCode, ms, ...caller }, 'request')
}
