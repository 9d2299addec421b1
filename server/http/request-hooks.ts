import type { FastifyBaseLogger, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { limitHeaders } from '../../facades/http/limit-headers.ts'
import { tellWhenToRetry } from '../../facades/http/retry-after.ts'
import { Problem } from '../../routers/core/problems.ts'
import type { Services } from '../../routers/core/services.ts'
import type { Env } from '../config/settings.ts'
import { markDeprecatedRoutes } from './deprecated-routes.ts'
import type { Drain } from './drain.ts'
import { createAddressCheck } from './own-address.ts'
import { assertFewParameters } from './request-url.ts'
import { readUnreadBodies } from './unread-body.ts'

interface RequestHookOptions {
  env: Env
  services: Services
  log: FastifyBaseLogger
  drain: Pick<Drain, 'isRefusing'>
}

/** What happens around each request, whatever surface answers it. */
export function addRequestHooks(app: FastifyInstance, { env, services, log, drain }: RequestHookOptions): void {
  markDeprecatedRoutes(app, { sunset: env.DEPRECATION_SUNSET, sql: services.sql, log })
  const checkAddress = createAddressCheck(services.settings.baseUrl, log)
  app.addHook('onRequest', (request, reply, done) => {
    checkAddress(request)
    reply.header('x-request-id', request.id)
    assertOneHost(request)
    if (drain.isRefusing() && !request.url.startsWith('/health')) throw new Problem('unavailable')
    assertFewParameters(request.url)
    done()
  })
  readUnreadBodies(app)
  app.addHook('onSend', ({ context }, reply, _, done) => {
    const hints = context?.hints
    if (hints) reply.headers(limitHeaders(hints))
    if (hints?.clearSiteData) reply.header('clear-site-data', '"cache", "storage"')
    tellWhenToRetry(reply, hints)
    done()
  })
  const isRepeated = createProbeWatch()
  // Nobody takes the answer to a request whose body broke off, so there is no response to log.
  app.addHook('onRequestAbort', (request, done) => {
    const { method, routeOptions, raw } = request
    if (!raw.complete) request.log.info({ method, route: routeOptions.url }, 'client_gone')
    done()
  })
  app.addHook('onResponse', (request, reply, done) => {
    logRequest(request, reply, isRepeated(request.routeOptions.url, reply.raw.statusCode) ? 'debug' : 'info')
    done()
  })
}

/** Tells whether a probe found what the one before it did, and no failure: such probes are most requests of a quiet day. */
function createProbeWatch() {
  const last = new Map<string, number>()
  return (route: string | undefined, status: number): boolean => {
    if (!route?.startsWith('/health')) return false
    const before = last.get(route)
    last.set(route, status)
    return status === before && status < 400
  }
}

/** Whoever stands between may have heeded another one than this service does. */
function assertOneHost({ raw: { rawHeaders } }: FastifyRequest): void {
  let hosts = 0
  for (let at = 0; at < rawHeaders.length; at += 2) if (rawHeaders[at]?.toLowerCase() === 'host') hosts++
  if (hosts > 1) throw new Problem('bad_request', { detail: 'There is more than one Host header.' })
}

/** The path as the route declares it: a real path may contain a secret. */
function logRequest(request: FastifyRequest, reply: FastifyReply, level: 'debug' | 'info'): void {
  const current = request.context?.callerContext.current
  const caller = current?.type === 'user' ? { userId: current.person.id, tokenId: current.token?.id } : undefined
  const { method, routeOptions } = request
  const ignored = request.context?.hints.ignoredParameters?.length
  const ms = Math.round(reply.elapsedTime * 10) / 10
  request.log[level](
    {
      method,
      route: routeOptions.url,
      status: reply.raw.statusCode,
      ms,
      ...caller,
      ...(ignored && { ignoredParameters: ignored }),
    },
    'request',
  )
}
