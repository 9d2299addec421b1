import type { IncomingMessage } from 'node:http'
import type { FastifyBaseLogger, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Sql } from '../../entities/sql/statement.ts'
import { countDeprecatedCalls } from '../../entities/system/deprecated-call.ts'
import { buildDeprecations, type Deprecation } from '../../facades/http/deprecations.ts'
import { isNavigation } from '../../facades/http/negotiation.ts'
import { countIgnoredParameters, setNoteHeaders, setRetryAfter } from '../../facades/http/response-notes.ts'
import { Problem } from '../../routers/core/problems.ts'
import type { Services } from '../../routers/core/services.ts'
import type { Log } from '../../routers/ports/log.ts'
import type { Metrics } from '../../routers/ports/metrics.ts'
import type { Env } from '../config/settings.ts'
import { runInScope } from '../net/fault-scope.ts'
import { BatchWriter } from '../stores/batch-writer.ts'
import type { Drain } from './drain.ts'

interface RequestHookOptions {
  env: Env
  services: Services
  log: FastifyBaseLogger
  drain: Pick<Drain, 'isDraining' | 'isRefusing'>
}

/** Adds the hooks that run around each request of every facade. */
export function addRequestHooks(app: FastifyInstance, { env, services, log, drain }: RequestHookOptions): void {
  markDeprecatedRoutes(app, { sunset: env.DEPRECATION_SUNSET, sql: services.sql, log })
  const checkAddress = createAddressCheck(services.settings.baseUrl, log)
  // Load balancers then send the client's next request to another replica.
  const closeWhileDraining = (reply: FastifyReply) => void (drain.isDraining() && reply.header('connection', 'close'))
  app.addHook('onRequest', (request, reply, done) => {
    closeWhileDraining(reply)
    checkAddress(request)
    reply.header('x-request-id', request.id)
    assertOneHost(request)
    if (drain.isRefusing() && !request.url.startsWith('/health')) throw new Problem('unavailable')
    assertFewParameters(request.url)
    done()
  })
  const runInRequestScope = ({ id, method, routeOptions }: FastifyRequest, done: () => void) =>
    runInScope({ kind: 'request', names: { requestId: id, method, route: routeOptions.url } }, done)
  app.addHook('onRequest', (request, _, done) => runInRequestScope(request, done))
  // A body arrives in the asynchronous context of its connection.
  app.addHook('preValidation', (request, _, done) => runInRequestScope(request, done))
  drainUnreadBodies(app)
  app.addHook('onSend', ({ context }, reply, _, done) => {
    closeWhileDraining(reply)
    setNoteHeaders(reply, context?.notes)
    setRetryAfter(reply, context?.notes)
    done()
  })
  const isRepeated = createRepeatedProbeCheck()
  // A request whose body was interrupted has no response to log.
  app.addHook('onRequestAbort', (request, done) => {
    const { method, routeOptions, raw } = request
    if (!raw.complete) request.log.info({ method, route: routeOptions.url }, 'client_gone')
    done()
  })
  app.addHook('onResponse', (request, reply, done) => {
    countRequest(services.process.metrics, app.names.basePath, request, reply)
    logRequest(request, reply, isRepeated(request.routeOptions.url, reply.raw.statusCode) ? 'debug' : 'info')
    done()
  })
}

/** Facades by the prefix of their routes; the first match counts. */
const surfaces = [
  ['/trpc', 'trpc'],
  ['/v1/messages', 'anthropic'],
  ['/v1', 'openai'],
  ['/api', 'legacy'],
  ['/health', 'health'],
  ['/metrics', 'metrics'],
  ['/mcp', 'mcp'],
  ['/docs', 'docs'],
  ['/oauth', 'oauth'],
  ['/.well-known/oauth', 'oauth'],
] as const

function countRequest(metrics: Metrics, basePath: string, { routeOptions }: FastifyRequest, reply: FastifyReply): void {
  const { url: route = '' } = routeOptions
  const [, matching = 'web'] = surfaces.find(([prefix]) => route.startsWith(prefix)) ?? []
  let surface: string = matching
  if (route === '') surface = 'unknown'
  else if (route.startsWith(basePath)) surface = 'json-api'
  metrics.countRequest({ surface, status: reply.raw.statusCode, seconds: reply.elapsedTime / 1000 })
}

/** Creates a check whether a health probe succeeded like the one before it. Such probes are not logged, because they are most requests of a quiet service. */
function createRepeatedProbeCheck() {
  const last = new Map<string, number>()
  return (route: string | undefined, status: number): boolean => {
    if (!route?.startsWith('/health')) return false
    const previous = last.get(route)
    last.set(route, status)
    return status === previous && status < 400
  }
}

/** Throws if a request has several Host headers, because a proxy may have used another one than this service does. */
function assertOneHost({ raw: { rawHeaders } }: FastifyRequest): void {
  let hosts = 0
  for (let at = 0; at < rawHeaders.length; at += 2) if (rawHeaders[at]?.toLowerCase() === 'host') hosts++
  if (hosts > 1) throw new Problem('bad_request', { detail: 'There is more than one Host header.' })
}

/** Largest number of query parameters; no endpoint needs as many. */
const MAX_PARAMETERS = 100

function assertFewParameters(url: string): void {
  if (url.split('&', MAX_PARAMETERS + 1).length <= MAX_PARAMETERS) return
  throw new Problem('invalid_query', { detail: `There are more than ${MAX_PARAMETERS} query parameters.` })
}

/** Logs a request with the path of its route, because the actual path may contain a secret. */
function logRequest(request: FastifyRequest, reply: FastifyReply, level: 'debug' | 'info'): void {
  const current = request.context?.callerContext.current
  const caller = current?.type === 'user' ? { userId: current.person.id, tokenId: current.token?.id } : undefined
  const { method, routeOptions } = request
  const ignored = countIgnoredParameters(request.context?.notes)
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
 * Creates a check that logs, once per host, that people open the service at another address than BASE_URL. Redirects of login
 * providers, links and the check of `Origin` then fail. Only page views are checked; probes and programs may use any address.
 */
function createAddressCheck(baseUrl: string, log: Log): (request: FastifyRequest) => void {
  const expected = parseHost(baseUrl)
  const reported = new Set<string>()
  return (request) => {
    if (request.method !== 'GET' || !isNavigation(request)) return
    const host = findOpenedHost(request)
    if (!host || host === expected || reported.size === MAX_HOSTS || reported.has(host)) return
    reported.add(host)
    log.warn(
      { host, baseUrl },
      'The service was opened at another address than BASE_URL. Set BASE_URL to the address that people use.',
    )
  }
}

/** Returns the host of a page view; undefined if an untrusted proxy may have rewritten it. */
function findOpenedHost({ headers, host, protocol }: FastifyRequest): string | undefined {
  const forwarded = headers['x-forwarded-host']
  const isProxied = [forwarded, headers['x-forwarded-for'], headers.forwarded, headers.via].some(Boolean)
  if (isProxied && forwarded !== host) return undefined
  return parseHost(`${protocol}://${host}`)
}

/** Returns host and port of a URL, with `localhost` for all loopback addresses; undefined if the URL is invalid. */
function parseHost(url: string): string | undefined {
  if (!URL.canParse(url)) return undefined
  return new URL(url).host.replace(/^(127\.0\.0\.1|\[::1\])(?=:|$)/, 'localhost').slice(0, 100)
}

/** Largest number of bytes that are discarded of an unread body. */
const MAX_DISCARDED_BYTES = 64 * 1024 * 1024
/** Milliseconds for which an unread body is discarded. */
const MAX_DISCARD_MS = 10_000
/** Milliseconds without data after which discarding stops. */
const MAX_PAUSE_MS = 1000

/**
 * Discards the unread rest of a request body before the response. If the connection closes while the client still sends, as
 * after a refused body or with HTTP/1.0, it is reset, and the client loses the response.
 */
function drainUnreadBodies(app: FastifyInstance): void {
  app.addHook('onSend', (request, reply, _, done) => {
    if (!isUnread(request.raw)) return done()
    discardBody(request.raw).then((isComplete) => {
      if (!isComplete) reply.header('connection', 'close')
      done()
    }, done)
  })
}

/** Returns whether the client may still be sending a body; a body that was received completely does no harm. */
const isUnread = ({ headers, complete, destroyed }: IncomingMessage): boolean =>
  !complete && !destroyed && (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0)

/** Discards a body; resolves with whether it was read to its end. */
async function discardBody(body: IncomingMessage): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  let bytes = 0
  const giveUp = () => resolve(false)
  const limit = setTimeout(giveUp, MAX_DISCARD_MS)
  const pause = setTimeout(giveUp, MAX_PAUSE_MS)
  const count = (chunk: Uint8Array | string) => {
    bytes += chunk.length
    pause.refresh()
    if (bytes > MAX_DISCARDED_BYTES) giveUp()
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
  /** Date on which deprecated routes are removed, if it is known. */
  sunset: Date | undefined
  sql: Sql
  log: FastifyBaseLogger
}

interface DeprecatedCall {
  route: string
  user: number
  token: number | null
}

const GATHER_MS = 1000

/** Adds deprecation headers to responses of deprecated routes, and counts their callers. Applies to routes that are registered later. */
function markDeprecatedRoutes(app: FastifyInstance, { sunset, sql, log }: DeprecatedRoutesOptions): void {
  const byRoute = buildDeprecations(app.names.basePath, sunset)
  const batch = new BatchWriter<DeprecatedCall>({
    name: 'deprecated calls',
    write: (calls) =>
      sql(countDeprecatedCalls, [calls.map((it) => it.route), calls.map((it) => it.user), calls.map((it) => it.token)]),
    log,
    delayMs: GATHER_MS,
    maxWaiting: 10_000,
  })
  app.addHook('onRoute', (route) => {
    // HEAD has the deprecation of GET.
    const method = route.method === 'HEAD' ? 'GET' : route.method
    const deprecation = byRoute.get(`${method} ${route.url}`)
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
