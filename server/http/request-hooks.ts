import type { IncomingMessage } from 'node:http'
import type { FastifyBaseLogger, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Sql } from '../../entities/sql/statement.ts'
import { countDeprecatedCalls } from '../../entities/system/deprecated-call.ts'
import { type Deprecation, deprecations } from '../../facades/http/deprecations.ts'
import { limitHeaders, tellWhenToRetry } from '../../facades/http/limit-headers.ts'
import { isNavigation } from '../../facades/http/negotiation.ts'
import { Problem } from '../../routers/core/problems.ts'
import type { Services } from '../../routers/core/services.ts'
import type { Log } from '../../routers/ports/log.ts'
import type { Metrics } from '../../routers/ports/metrics.ts'
import type { Env } from '../config/settings.ts'
import { Batch } from '../stores/write-behind.ts'
import type { Drain } from './drain.ts'
import { assertFewParameters } from './request-url.ts'

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
    countRequest(services.metrics, app.names.basePath, request, reply)
    logRequest(request, reply, isRepeated(request.routeOptions.url, reply.raw.statusCode) ? 'debug' : 'info')
    done()
  })
}

/** The surfaces of requests, by how their routes begin; the first that fits. */
const surfaces = [
  ['/trpc', 'trpc'],
  ['/v1/messages', 'anthropic'],
  ['/v1', 'openai'],
  ['/api', 'legacy'],
  ['/health', 'health'],
  ['/metrics', 'metrics'],
  ['/docs', 'docs'],
] as const

function countRequest(metrics: Metrics, basePath: string, { routeOptions }: FastifyRequest, reply: FastifyReply): void {
  const { url: route = '' } = routeOptions
  const [, found = 'web'] = surfaces.find(([prefix]) => route.startsWith(prefix)) ?? []
  const surface = route === '' ? 'unknown' : route.startsWith(basePath) ? 'json-api' : found
  metrics.countRequest({ surface, status: reply.raw.statusCode, seconds: reply.elapsedTime / 1000 })
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

const MAX_HOSTS = 5

/**
 * Tells the log, once for each of a few hosts, that people open the service at another address than BASE_URL says: then
 * sign-in elsewhere, links and the check of `Origin` fail. Looks only at pages that a browser opens; probes and programs
 * may use whatever address leads here.
 */
function createAddressCheck(baseUrl: string, log: Log): (request: FastifyRequest) => void {
  const expected = parseHost(baseUrl)
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
  return parseHost(`${protocol}://${host}`)
}

/** Host and port, with one name for all names of this machine; undefined if the text is no host. */
function parseHost(url: string): string | undefined {
  if (!URL.canParse(url)) return undefined
  return new URL(url).host.replace(/^(127\.0\.0\.1|\[::1\])(?=:|$)/, 'localhost').slice(0, 100)
}

/** What is read on of a refused body at most, in bytes and milliseconds, and how long its client may pause. */
const MAX_BYTES = 64 * 1024 * 1024
const MAX_MS = 10_000
const MAX_PAUSE_MS = 1000

/**
 * Reads a body that nobody has read to its end before its request is answered. A connection that closes after an answer, as
 * after every refusal of a body and in HTTP/1.0, resets while its client still sends, and the answer is lost with it.
 */
function readUnreadBodies(app: FastifyInstance): void {
  app.addHook('onSend', (request, reply, _, done) => {
    if (!isUnread(request.raw)) return done()
    discard(request.raw).then((isWhole) => {
      if (!isWhole) reply.header('connection', 'close')
      done()
    }, done)
  })
}

/** What has been received as a whole waits in the memory of this process, and closes no connection early. */
const isUnread = ({ headers, complete, destroyed }: IncomingMessage): boolean =>
  !complete && !destroyed && (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0)

/** Lets a body pass by; returns whether that was all of it. */
async function discard(body: IncomingMessage): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  let bytes = 0
  const giveUp = () => resolve(false)
  const limit = setTimeout(giveUp, MAX_MS)
  const pause = setTimeout(giveUp, MAX_PAUSE_MS)
  const count = (chunk: Uint8Array | string) => {
    bytes += chunk.length
    pause.refresh()
    if (bytes > MAX_BYTES) giveUp()
  }
  const finish = () => resolve(true)
  body.unpipe()
  body.on('data', count).once('end', finish).once('close', giveUp).resume()
  try {
    return await promise
  } finally {
    clearTimeout(limit)
    clearTimeout(pause)
    body.off('data', count).off('end', finish).off('close', giveUp)
  }
}

interface DeprecatedRoutesOptions {
  /** When they go, if that is settled. */
  sunset: Date | undefined
  sql: Sql
  log: FastifyBaseLogger
}

interface Call {
  route: string
  user: number
  token: number | null
}

const GATHER_MS = 1000

/** Has deprecated routes say so in every answer, and counts behind the answers who calls them. For routes registered later. */
function markDeprecatedRoutes(app: FastifyInstance, { sunset, sql, log }: DeprecatedRoutesOptions): void {
  const known = deprecations(app.names.basePath, sunset)
  const batch = new Batch<Call>({
    name: 'deprecated calls',
    write: (calls) =>
      sql(countDeprecatedCalls, [calls.map((it) => it.route), calls.map((it) => it.user), calls.map((it) => it.token)]),
    log,
    gather: GATHER_MS,
    most: 10_000,
  })
  app.addHook('onRoute', (route) => {
    // A HEAD is answered as its GET.
    const method = route.method === 'HEAD' ? 'GET' : route.method
    const deprecation = known.get(`${method} ${route.url}`)
    if (deprecation) route.config = { ...route.config, deprecation } as object
  })
  app.addHook('onRequest', (request, reply, done) => {
    const deprecation = deprecationOf(request)
    if (deprecation) reply.headers(deprecation.headers)
    done()
  })
  app.addHook('onResponse', (request, _, done) => {
    const route = deprecationOf(request)?.name
    const caller = route && request.context?.callerContext.current
    if (caller && caller.type === 'user') batch.add({ route, user: caller.person.id, token: caller.token?.id ?? null })
    done()
  })
  app.addHook('onClose', () => batch.flush())
}

const deprecationOf = ({ routeOptions }: FastifyRequest) =>
  (routeOptions.config as { deprecation?: Deprecation }).deprecation
