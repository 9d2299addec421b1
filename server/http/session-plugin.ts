import { randomBytes } from 'node:crypto'
import cookie from '@fastify/cookie'
import session, { type SessionStore } from '@fastify/session'
import type { FastifyInstance, FastifyRequest, onRequestHookHandler } from 'fastify'

export interface CookieOptions {
  /** True if cookies are sent over encrypted connections only. */
  secure: boolean
  /** Default lifetime of a cookie in the browser, in milliseconds. */
  lifetime: number
}

/** Registers cookies that scripts cannot read, and that browsers leave out of other sites' unsafe requests. */
export async function registerCookies(app: FastifyInstance, { secure, lifetime }: CookieOptions): Promise<void> {
  const maxAge = Math.ceil(lifetime / 1000)
  await app.register(cookie, { parseOptions: { path: '/', httpOnly: true, sameSite: 'lax', secure, maxAge } })
}

export interface SessionOptions extends Pick<CookieOptions, 'secure'> {
  store: SessionStore
  /** Secrets of cookies: the first signs, all verify. A cookie with an invalid signature never reaches the store. */
  secrets: string[]
  /** Returns whether the session cookie of a request is used. */
  isSessionAccepted: (request: FastifyRequest) => boolean
}

/** Registers sessions for the routes of this scope. A session that is never saved creates neither a row nor a cookie. */
export async function registerSessions(
  app: FastifyInstance,
  { store, secrets, isSessionAccepted, secure }: SessionOptions,
): Promise<void> {
  const { sessionCookie: cookieName } = app.names
  app.addHook('onRequest', async (request) => {
    if (!isSessionAccepted(request)) delete request.cookies[cookieName]
  })
  // The plugin's hook is skipped for requests with only a token, because creating a session takes a quarter of a short request.
  const { addHook } = app
  const add = addHook.bind(app) as (name: string, hook: unknown) => FastifyInstance
  app.addHook = ((name: string, hook: onRequestHookHandler) =>
    add(name, name === 'onRequest' ? skipForTokens(hook, cookieName) : hook)) as typeof addHook
  await app.register(session, {
    store,
    secret: secrets,
    cookieName,
    idGenerator: createSecret,
    saveUninitialized: false,
    rolling: false,
    cookie: { path: '/', httpOnly: true, sameSite: 'lax', secure },
  })
  app.addHook = addHook
  // The plugin clears a cookie that does not match the session. A slow response would so clear the cookie of a login that
  // happened meanwhile, so the cookie is hidden from the plugin.
  app.addHook('onRequest', async (request) => {
    delete request.cookies[cookieName]
  })
}

const skipForTokens = (hook: onRequestHookHandler, cookieName: string): onRequestHookHandler =>
  function (request, reply, done) {
    if (request.headers.authorization !== undefined && request.cookies[cookieName] === undefined) done()
    else hook.call(this, request, reply, done)
  }

/** Creates a random secret of 256 bits. */
export const createSecret = () => randomBytes(32).toString('base64url')
