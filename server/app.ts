import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import { aiReq } from '../facades/ai-req/index.ts'
import { anthropic } from '../facades/anthropic/index.ts'
import { docs } from '../facades/docs/index.ts'
import { readBodyLimits } from '../facades/http/body-limits.ts'
import { readJsonBodies } from '../facades/http/json-text.ts'
import { recordMethods } from '../facades/http/method-not-allowed.ts'
import { createWireNames, type WireNames } from '../facades/http/names.ts'
import type { FacadeOptions, LegacyRoute } from '../facades/http/procedures.ts'
import { wellKnown } from '../facades/http/well-known.ts'
import { type JsonApiOptions, jsonApi } from '../facades/json-api/index.ts'
import { memberProfiles } from '../facades/json-api/member-profiles.ts'
import { Members } from '../facades/json-api/members.ts'
import { legacyLinkPreview } from '../facades/legacy/link-preview.ts'
import { legacyRequests } from '../facades/legacy/req/index.ts'
import { mcp } from '../facades/mcp/index.ts'
import { health, metrics } from '../facades/monitoring.ts'
import { oauth } from '../facades/oauth/index.ts'
import { findResourceMetadata } from '../facades/oauth/metadata.ts'
import { openAi } from '../facades/openai/index.ts'
import { broadcastingAuth } from '../facades/realtime/auth.ts'
import { trpc } from '../facades/trpc.ts'
import { webActions } from '../facades/web/actions.ts'
import type { AppSource } from '../facades/web/app-files.ts'
import { web } from '../facades/web/index.ts'
import { type Site, serveSite } from '../facades/web/site.ts'
import { serveManifest } from '../facades/web/web-manifest.ts'
import type { Services } from '../routers/core/services.ts'
import { selectJsonApi } from '../routers/index.ts'
import type { Traces } from '../routers/ports/traces.ts'
import type { Env } from './config/settings.ts'
import { guides } from './guides.ts'
import type { Authenticator } from './http/authenticator.ts'
import { registerCompression } from './http/compression.ts'
import { createServer } from './http/create-server.ts'
import { createSessionFilter } from './http/csrf.ts'
import type { Drain } from './http/drain.ts'
import { setErrorHandlers, setModelApiErrorHandlers } from './http/error-handlers.ts'
import { type Contexts, createContexts } from './http/request-context.ts'
import { addRequestHooks } from './http/request-hooks.ts'
import { traceRequests } from './http/request-traces.ts'
import { addSecurityHeaders, registerCors } from './http/security-headers.ts'
import { type CookieOptions, registerCookies, registerSessions, type SessionOptions } from './http/session-plugin.ts'
import { createSessionCache, createSessionStore } from './stores/sessions.ts'

export interface AppOptions {
  env: Env
  services: Services
  authenticator: Authenticator
  cookieSecrets: string[]
  log: FastifyBaseLogger
  traces?: Traces | undefined
  drain: Pick<Drain, 'isDraining' | 'isRefusing'>
  appSource: AppSource
  site: Site
}

/** Builds the HTTP server with all facades of the service; it does not listen yet. */
export async function buildApp(options: AppOptions): Promise<FastifyInstance> {
  const { env, services, authenticator, log, traces, drain } = options
  const bodyLimits = readBodyLimits(env)
  const app = createServer(env, log, bodyLimits)
  const names = createWireNames(env.BRAND, env.JSONAPI_MEMBER_CASE)
  app.decorate('names', names)
  app.decorate('appSource', options.appSource)
  serveSite(app, options.site)
  serveManifest(app, options.site)
  recordMethods(app)
  if (traces) traceRequests(app, traces)
  const contexts = await createContexts(app, services, authenticator)

  await registerCookies(app, readCookieOptions(env, services))
  addSecurityHeaders(app)
  await registerCompression(app)
  await registerCors(app, env.CORS_ORIGINS)
  addRequestHooks(app, { env, services, log, drain })
  setErrorHandlers(app, env, services)
  readJsonBodies(app)

  const { resolveTokenContext, resolveGuestContext } = contexts
  await app.register(health, { resolveGuestContext, isDraining: drain.isDraining })
  await app.register(metrics, { resolveContext: resolveTokenContext })
  await registerTokenRoutes(app, { resolveContext: resolveTokenContext, bodyLimits, heartbeat: env.AI_HEARTBEAT })
  await app.register(wellKnown)
  await registerGateway(app, options, resolveTokenContext)
  if (services.settings.oauth.clients !== 'off')
    await app.register(oauth, { resolveGuestContext, settings: services.settings, name: options.site.name })
  const members = new Members(memberProfiles[env.JSONAPI_MEMBER_CASE])
  const { router, resources } = selectJsonApi(env.JSONAPI_ASSISTANTS)
  const surface = { router, resources, names, baseUrl: env.BASE_URL ?? '', members }
  const legacyRoutes = await registerBrowserRoutes(app, options, { ...contexts, surface })
  await registerChannelAuth(app, options, contexts)
  const endpoints = async () => (await import('./endpoint-docs.ts')).listEndpoints(names)
  await app.register(docs, { ...surface, endpoints, legacyRoutes, guides })
  return app
}

type BrowserRouteOptions = Pick<Contexts, 'resolveContext' | 'peekContext'> & {
  surface: Required<Omit<JsonApiOptions, keyof FacadeOptions>> & { names: WireNames }
}

/** Registers the facades that accept sessions and tokens. Returns the routes for earlier front ends. */
async function registerBrowserRoutes(
  app: FastifyInstance,
  options: AppOptions,
  { resolveContext, peekContext, surface }: BrowserRouteOptions,
): Promise<LegacyRoute[]> {
  const { env } = options
  const shared = { resolveContext, bodyLimits: readBodyLimits(env) }
  const legacyRoutes: LegacyRoute[] = []
  const recordRoute = (route: LegacyRoute) => legacyRoutes.push(route)
  await app.register(async (scope) => {
    await registerSessions(scope, createSessionOptions(options))
    await scope.register(webActions, { ...shared, peekContext })
    await scope.register(legacyRequests, { ...shared, heartbeat: env.AI_HEARTBEAT, recordRoute })
    await scope.register(web, { resolveContext })
    await scope.register(trpc, { ...shared, heartbeat: env.SUBSCRIPTIONS_HEARTBEAT })
    const { names, members, ...api } = { ...surface, ...shared }
    await scope.register(legacyLinkPreview, api)
    await scope.register(jsonApi, { ...api, prefix: names.basePath, members })
    if (names.pageApi !== names.basePath) await scope.register(jsonApi, { ...api, prefix: names.pageApi })
  })
  return legacyRoutes
}

/** Registers the endpoints that authorize subscriptions of the Pusher protocol, by token and by session. */
async function registerChannelAuth(
  app: FastifyInstance,
  options: AppOptions,
  { resolveTokenContext, peekContext }: Contexts,
): Promise<void> {
  const bodyLimits = readBodyLimits(options.env)
  const signing = { path: '/api/broadcasting/auth', resolveContext: resolveTokenContext, bodyLimits }
  await app.register(broadcastingAuth, signing)
  await app.register(async (scope) => {
    const sessions = createSessionOptions(options)
    await registerSessions(scope, { ...sessions, store: createSessionCache(sessions.store) })
    await scope.register(broadcastingAuth, {
      path: '/broadcasting/auth',
      resolveContext: peekContext,
      bodyLimits,
    })
  })
}

/** Registers the gateway to the tools, for programs that speak MCP. */
async function registerGateway(
  app: FastifyInstance,
  { env, services: { settings } }: AppOptions,
  resolveContext: FacadeOptions['resolveContext'],
): Promise<void> {
  await app.register(mcp, {
    resolveContext,
    bodyLimits: readBodyLimits(env),
    baseUrl: settings.baseUrl,
    origins: env.CORS_ORIGINS,
    name: settings.brand,
    version: settings.version,
    heartbeat: env.AI_HEARTBEAT,
    findMetadata: (path) => findResourceMetadata(settings, path),
  })
}

/** Registers the facades that accept tokens only. */
async function registerTokenRoutes(
  app: FastifyInstance,
  options: FacadeOptions & { heartbeat: number },
): Promise<void> {
  await app.register(aiReq, options)
  await app.register(openAi, options)
  await app.register(anthropic, options)
  await app.register(setModelApiErrorHandlers, { prefix: '/v1' })
}

const readCookieOptions = ({ NODE_ENV }: Env, { settings }: Services): CookieOptions => ({
  secure: NODE_ENV === 'production' || settings.baseUrl.startsWith('https:'),
  lifetime: settings.sessionLifetime,
})

const createSessionOptions = ({ env, services, cookieSecrets }: AppOptions): SessionOptions => ({
  ...readCookieOptions(env, services),
  store: createSessionStore(services.sql, services.settings.sessionLifetime, services.changes.credentials),
  secrets: cookieSecrets,
  isSessionAccepted: createSessionFilter(new URL(services.settings.baseUrl).origin),
})
