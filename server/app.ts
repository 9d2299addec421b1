import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify'
import { anthropic } from '../facades/anthropic/index.ts'
import { docs } from '../facades/docs/index.ts'
import { health } from '../facades/health.ts'
import { type BodyLimits, bodyLimitsOf } from '../facades/http/body-limits.ts'
import { failureOf } from '../facades/http/failure.ts'
import { readJsonBodies } from '../facades/http/json-text.ts'
import { limitHeaders } from '../facades/http/limit-headers.ts'
import { wireNames } from '../facades/http/names.ts'
import { isNavigation } from '../facades/http/navigation.ts'
import type { FacadeOptions } from '../facades/http/procedures.ts'
import { jsonApi } from '../facades/json-api/index.ts'
import { memberProfiles } from '../facades/json-api/member-profiles.ts'
import { Members } from '../facades/json-api/members.ts'
import { legacy } from '../facades/legacy/ai-req.ts'
import { legacyLinkPreview } from '../facades/legacy/link-preview.ts'
import { olderRequests } from '../facades/legacy/req/index.ts'
import { openAi } from '../facades/openai/index.ts'
import { broadcastingAuth } from '../facades/realtime/auth.ts'
import { trpc } from '../facades/trpc.ts'
import { req } from '../facades/web/actions/index.ts'
import { assets } from '../facades/web/assets.ts'
import { sendErrorPage } from '../facades/web/error-page.ts'
import { web } from '../facades/web/index.ts'
import type { Context } from '../routers/core/context.ts'
import type { ResponseHints } from '../routers/core/hooks.ts'
import { Problem } from '../routers/core/problems.ts'
import type { Services } from '../routers/core/services.ts'
import { withTimeout } from '../routers/core/timeout.ts'
import { appRouter, resources } from '../routers/index.ts'
import type { Env } from './config/settings.ts'
import { compression } from './http/compression.ts'
import { allowOrigins } from './http/cors.ts'
import type { Authenticator } from './http/credentials.ts'
import { sessionCounts } from './http/csrf.ts'
import { markDeprecatedRoutes } from './http/deprecated-routes.ts'
import type { Drain } from './http/drain.ts'
import { createAddressCheck } from './http/own-address.ts'
import { type Contexts, createContexts } from './http/request-context.ts'
import { localeOf } from './http/request-locale.ts'
import { assertFewParameters, readable } from './http/request-url.ts'
import { secureHeaders } from './http/security-headers.ts'
import { type CookieOptions, keepSessions, readCookies, type SessionOptions } from './http/session-plugin.ts'
import { recentSessions } from './stores/recent-sessions.ts'
import { createSessionStore } from './stores/sessions.ts'

export interface AppOptions {
  env: Env
  services: Services
  authenticator: Authenticator
  cookieSecrets: string[]
  log: FastifyBaseLogger
  drain: Pick<Drain, 'isDraining' | 'isRefusing'>
}

/** All faces of the service on one HTTP server, which does not listen yet. */
export async function buildApp(options: AppOptions): Promise<FastifyInstance> {
  const { env, services, authenticator, log, drain } = options
  const bodyLimits = bodyLimitsOf(env)
  const app = createServer(env, log, bodyLimits)
  const names = wireNames(env.BRAND, env.JSONAPI_MEMBER_CASE)
  app.decorate('names', names)
  const contexts = await createContexts(app, services, authenticator)

  await readCookies(app, cookiesOf(env, services))
  secureHeaders(app)
  await compression(app)
  await allowOrigins(app, env.CORS_ORIGINS)
  addHooks(app, options, contexts)
  answerErrors(app, env, services)
  readJsonBodies(app)

  const { tokenContextOf, guestContextOf } = contexts
  await app.register(health, { guestContextOf, isDraining: drain.isDraining })
  await serveScripts(app, { contextOf: tokenContextOf, bodyLimits, heartbeat: env.AI_HEARTBEAT })
  await app.register(assets)
  const members = new Members(memberProfiles[env.JSONAPI_MEMBER_CASE])
  const surface = { router: appRouter, resources, names, baseUrl: env.BASE_URL ?? '' }
  await app.register(async (inBrowser) => {
    const { contextOf, peekContextOf } = contexts
    await keepSessions(inBrowser, sessionsOf(options))
    await inBrowser.register(req, { contextOf, peekContextOf, bodyLimits })
    await inBrowser.register(olderRequests, { contextOf, bodyLimits, heartbeat: env.AI_HEARTBEAT })
    await inBrowser.register(web, { contextOf })
    await inBrowser.register(trpc, { contextOf, bodyLimits, heartbeat: env.SUBSCRIPTIONS_HEARTBEAT })
    const api = { ...surface, contextOf, bodyLimits }
    await inBrowser.register(legacyLinkPreview, api)
    await inBrowser.register(jsonApi, { ...api, prefix: names.basePath, members })
    if (names.pageApi !== names.basePath) await inBrowser.register(jsonApi, { ...api, prefix: names.pageApi })
  })
  await signSubscriptions(app, options, contexts)
  await app.register(docs, { ...surface, members })
  return app
}

/** Lets clients of the Pusher protocol ask for what they may subscribe to, by token and by session. */
async function signSubscriptions(
  app: FastifyInstance,
  options: AppOptions,
  { recentTokenContextOf, peekContextOf }: Contexts,
): Promise<void> {
  const bodyLimits = bodyLimitsOf(options.env)
  const signing = { path: '/api/broadcasting/auth', contextOf: recentTokenContextOf, bodyLimits }
  await app.register(broadcastingAuth, signing)
  await app.register(async (inBrowser) => {
    const sessions = sessionsOf(options)
    await keepSessions(inBrowser, { ...sessions, store: recentSessions(sessions.store) })
    await inBrowser.register(broadcastingAuth, {
      path: '/broadcasting/auth',
      contextOf: peekContextOf,
      bodyLimits,
    })
  })
}

/** What is asked with a token alone. */
async function serveScripts(app: FastifyInstance, options: FacadeOptions & { heartbeat: number }): Promise<void> {
  await app.register(legacy, options)
  await app.register(openAi, options)
  await app.register(anthropic, options)
}

const cookiesOf = ({ NODE_ENV }: Env, { settings }: Services): CookieOptions => ({
  secure: NODE_ENV === 'production' || settings.baseUrl.startsWith('https:'),
  lifetime: settings.sessionLifetime,
})

const sessionsOf = ({ services, cookieSecrets }: AppOptions): SessionOptions => ({
  store: createSessionStore(services.sql, services.settings.sessionLifetime),
  secrets: cookieSecrets,
  counts: sessionCounts(new URL(services.settings.baseUrl).origin),
})

function addHooks(app: FastifyInstance, { env, services, log, drain }: AppOptions, { made }: Contexts): void {
  markDeprecatedRoutes(app, { sunset: env.DEPRECATION_SUNSET, sql: services.sql, log, made })
  const checkAddress = createAddressCheck(services.settings.baseUrl, log)
  app.addHook('onRequest', async (request, reply) => {
    checkAddress(request)
    reply.header('x-request-id', request.id)
    if (drain.isRefusing() && !request.url.startsWith('/health')) await refuseWork(request)
    assertFewParameters(request.url)
  })
  app.addHook('onSend', async (request, reply) => {
    const hints = (await made(request))?.hints
    if (hints) reply.headers(limitHeaders(hints))
    if (hints?.clearSiteData) reply.header('clear-site-data', '"cache", "storage"')
    if (!reply.hasHeader('retry-after')) tellWhenToRetry(reply, hints)
  })
  app.addHook('onResponse', async (request, reply) => {
    logRequest(request, reply, await made(request))
  })
}

function createServer(env: Env, log: FastifyBaseLogger, bodyLimits: BodyLimits) {
  return fastify({
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    genReqId: () => randomUUID(),
    bodyLimit: bodyLimits.form,
    trustProxy: env.TRUSTED_PROXIES.length > 0 ? env.TRUSTED_PROXIES : false,
    forceCloseConnections: 'idle',
    // The names of all procedures in a batch are one parameter, and headers end before that.
    routerOptions: { maxParamLength: 32_768 },
    rewriteUrl: ({ url = '/' }) => readable(url),
    http: { shouldUpgradeCallback: ({ headers }) => headers.upgrade?.toLowerCase() === 'websocket' },
    // A slow sender must not hold a connection for ever.
    requestTimeout: Math.max(120_000, env.UPLOAD_TIMEOUT),
  })
}

/** When to try again what cannot be served now. */
const RETRY_AFTER_SECONDS = 5

function tellWhenToRetry(reply: FastifyReply, hints: ResponseHints | undefined): void {
  if (reply.statusCode === 503) reply.header('retry-after', RETRY_AFTER_SECONDS)
  if (reply.statusCode === 429) reply.header('retry-after', hints?.rateLimit?.resetSeconds ?? 60)
}

/** What no surface answers in its own shape: browsers get a page in their language, programs get JSON. */
function answerErrors(app: FastifyInstance, env: Env, { labels }: Services): void {
  app.setErrorHandler((thrown, request, reply) => {
    const { status, code, message, error } = failureOf(thrown)
    if (status >= 500) request.log.error({ error: error.cause ?? error }, code)
    if (isNavigation(request)) {
      const locale = localeOf(request) ?? env.APP_LOCALE
      return sendErrorPage(request, reply, { status, code }, { locale, labels: labels[locale] })
    }
    return reply.code(status).send({ success: false, message, code, requestId: request.id })
  })
  app.setNotFoundHandler(() => {
    throw new Problem('not_found', { detail: 'There is nothing at this address.' })
  })
}

/** While the service stops; another replica, or the next start, takes it. */
async function refuseWork({ raw }: FastifyRequest): Promise<never> {
  // The connection closes after the answer; an unread body would reset it before the answer arrives.
  raw.resume()
  await withTimeout(once(raw, 'end'), BODY_TIMEOUT_MS).catch(() => {})
  throw new Problem('unavailable')
}

const BODY_TIMEOUT_MS = 1000

/** The path as the route declares it: a real path may contain a secret. */
function logRequest(request: FastifyRequest, reply: FastifyReply, ctx: Context | undefined): void {
  const current = ctx?.callerContext.current
  const caller = current?.type === 'user' ? { userId: current.person.id, tokenId: current.token?.id } : undefined
  const { method, routeOptions } = request
  const ms = Math.round(reply.elapsedTime * 10) / 10
  request.log.info({ method, route: routeOptions.url, status: reply.raw.statusCode, ms, ...caller }, 'request')
}
