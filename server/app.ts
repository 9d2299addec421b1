import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import { anthropic } from '../facades/anthropic/index.ts'
import { docs } from '../facades/docs/index.ts'
import { readBodyLimits } from '../facades/http/body-limits.ts'
import { readJsonBodies } from '../facades/http/json-text.ts'
import { noteMethods } from '../facades/http/method-not-allowed.ts'
import { type WireNames, wireNames } from '../facades/http/names.ts'
import type { FacadeOptions, OlderRoute } from '../facades/http/procedures.ts'
import { type JsonApiOptions, jsonApi } from '../facades/json-api/index.ts'
import { memberProfiles } from '../facades/json-api/member-profiles.ts'
import { Members } from '../facades/json-api/members.ts'
import { legacy, legacyLinkPreview } from '../facades/legacy/api.ts'
import { olderRequests } from '../facades/legacy/req/index.ts'
import { health, metrics } from '../facades/monitoring.ts'
import { openAi } from '../facades/openai/index.ts'
import { broadcastingAuth } from '../facades/realtime/auth.ts'
import { trpc } from '../facades/trpc.ts'
import { req } from '../facades/web/actions.ts'
import type { AppSource } from '../facades/web/app-files.ts'
import { assets } from '../facades/web/assets.ts'
import { web } from '../facades/web/index.ts'
import { type Site, serveSite } from '../facades/web/site.ts'
import type { Services } from '../routers/core/services.ts'
import { appRouter, resources } from '../routers/index.ts'
import type { Traces } from '../routers/ports/traces.ts'
import type { Env } from './config/settings.ts'
import { guides } from './guides.ts'
import { compression } from './http/compression.ts'
import { createServer } from './http/create-server.ts'
import type { Authenticator } from './http/credentials.ts'
import { sessionCounts } from './http/csrf.ts'
import type { Drain } from './http/drain.ts'
import { answerErrors, answerUnknownOfModels } from './http/error-answers.ts'
import { type Contexts, createContexts } from './http/request-context.ts'
import { addRequestHooks } from './http/request-hooks.ts'
import { traceRequests } from './http/request-traces.ts'
import { allowOrigins, secureHeaders } from './http/security-headers.ts'
import { type CookieOptions, keepSessions, readCookies, type SessionOptions } from './http/session-plugin.ts'
import { createSessionStore, recentSessions } from './stores/sessions.ts'

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

/** All faces of the service on one HTTP server, which does not listen yet. */
export async function buildApp(options: AppOptions): Promise<FastifyInstance> {
  const { env, services, authenticator, log, traces, drain } = options
  const bodyLimits = readBodyLimits(env)
  const app = createServer(env, log, bodyLimits)
  const names = wireNames(env.BRAND, env.JSONAPI_MEMBER_CASE)
  app.decorate('names', names)
  serveSite(app, options.site)
  noteMethods(app)
  if (traces) traceRequests(app, traces)
  const contexts = await createContexts(app, services, authenticator)

  await readCookies(app, readCookieOptions(env, services))
  secureHeaders(app)
  await compression(app)
  await allowOrigins(app, env.CORS_ORIGINS)
  addRequestHooks(app, { env, services, log, drain })
  answerErrors(app, env, services)
  readJsonBodies(app)

  const { tokenContextOf, guestContextOf } = contexts
  await app.register(health, { guestContextOf, isDraining: drain.isDraining })
  await app.register(metrics, { contextOf: tokenContextOf })
  await serveScripts(app, { contextOf: tokenContextOf, bodyLimits, heartbeat: env.AI_HEARTBEAT })
  await app.register(assets)
  const members = new Members(memberProfiles[env.JSONAPI_MEMBER_CASE])
  const surface = { router: appRouter, resources, names, baseUrl: env.BASE_URL ?? '', members }
  const older = await serveBrowsers(app, options, { ...contexts, surface })
  await signSubscriptions(app, options, contexts)
  const endpoints = async () => (await import('./described-endpoints.ts')).describedEndpoints(names)
  await app.register(docs, { ...surface, endpoints, older, guides })
  return app
}

type BrowserFaces = Pick<Contexts, 'contextOf' | 'peekContextOf'> & {
  surface: Required<Omit<JsonApiOptions, keyof FacadeOptions>> & { names: WireNames }
}

/** What is asked with a session, or with a token. Returns the routes of front ends that exist. */
async function serveBrowsers(
  app: FastifyInstance,
  options: AppOptions,
  { contextOf, peekContextOf, surface }: BrowserFaces,
): Promise<OlderRoute[]> {
  const { env } = options
  const shared = { contextOf, bodyLimits: readBodyLimits(env) }
  const older: OlderRoute[] = []
  const noteRoute = (route: OlderRoute) => older.push(route)
  await app.register(async (inBrowser) => {
    await keepSessions(inBrowser, createSessionOptions(options))
    await inBrowser.register(req, { ...shared, peekContextOf })
    await inBrowser.register(olderRequests, { ...shared, heartbeat: env.AI_HEARTBEAT, noteRoute })
    await inBrowser.register(web, { contextOf, appSource: options.appSource })
    await inBrowser.register(trpc, { ...shared, heartbeat: env.SUBSCRIPTIONS_HEARTBEAT })
    const { names, members, ...api } = { ...surface, ...shared }
    await inBrowser.register(legacyLinkPreview, api)
    await inBrowser.register(jsonApi, { ...api, prefix: names.basePath, members })
    if (names.pageApi !== names.basePath) await inBrowser.register(jsonApi, { ...api, prefix: names.pageApi })
  })
  return older
}

/** Lets clients of the Pusher protocol ask for what they may subscribe to, by token and by session. */
async function signSubscriptions(
  app: FastifyInstance,
  options: AppOptions,
  { tokenContextOf, peekContextOf }: Contexts,
): Promise<void> {
  const bodyLimits = readBodyLimits(options.env)
  const signing = { path: '/api/broadcasting/auth', contextOf: tokenContextOf, bodyLimits }
  await app.register(broadcastingAuth, signing)
  await app.register(async (inBrowser) => {
    const sessions = createSessionOptions(options)
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
  await app.register(answerUnknownOfModels, { prefix: '/v1' })
}

const readCookieOptions = ({ NODE_ENV }: Env, { settings }: Services): CookieOptions => ({
  secure: NODE_ENV === 'production' || settings.baseUrl.startsWith('https:'),
  lifetime: settings.sessionLifetime,
})

const createSessionOptions = ({ env, services, cookieSecrets }: AppOptions): SessionOptions => ({
  ...readCookieOptions(env, services),
  store: createSessionStore(services.sql, services.settings.sessionLifetime, services.credentials),
  secrets: cookieSecrets,
  counts: sessionCounts(new URL(services.settings.baseUrl).origin),
})
