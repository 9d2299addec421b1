import { randomBytes } from 'node:crypto'
import cookie from '@fastify/cookie'
import session, { type SessionStore } from '@fastify/session'
import type { FastifyInstance, FastifyRequest, onRequestHookHandler } from 'fastify'

export interface CookieOptions {
  /** Whether cookies go over encrypted connections only. */
  secure: boolean
  /** How long a browser keeps a cookie unless told otherwise, in milliseconds. */
  lifetime: number
}

/** Scripts cannot read our cookies, and requests of other sites that change something lack them. */
export async function readCookies(app: FastifyInstance, { secure, lifetime }: CookieOptions): Promise<void> {
  const maxAge = Math.ceil(lifetime / 1000)
  await app.register(cookie, { parseOptions: { path: '/', httpOnly: true, sameSite: 'lax', secure, maxAge } })
}

export interface SessionOptions extends Pick<CookieOptions, 'secure'> {
  store: SessionStore
  /** The first signs cookies, all verify them; a cookie with an invalid signature never reaches the store. */
  secrets: string[]
  /** Returns whether the session that a request may have counts. */
  counts: (request: FastifyRequest) => boolean
}

/** Gives the requests of these surfaces a session where it counts. A session that nobody has saved leaves no row and no cookie. */
export async function keepSessions(
  app: FastifyInstance,
  { store, secrets, counts, secure }: SessionOptions,
): Promise<void> {
  const { sessionCookie: cookieName } = app.names
  app.addHook('onRequest', async (request) => {
    if (!counts(request)) delete request.cookies[cookieName]
  })
  // A new session of the plugin costs a quarter of a short request, and one that comes by a token alone has no use for it.
  const { addHook } = app
  const add = addHook.bind(app) as (name: string, hook: unknown) => FastifyInstance
  app.addHook = ((name: string, hook: onRequestHookHandler) =>
    add(name, name === 'onRequest' ? unlessByToken(hook, cookieName) : hook)) as typeof addHook
  await app.register(session, {
    ...{ store, secret: secrets, cookieName, idGenerator: newSecret, saveUninitialized: false, rolling: false },
    cookie: { path: '/', httpOnly: true, sameSite: 'lax', secure },
  })
  app.addHook = addHook
  // The plugin clears a cookie that is not that of the session. A slow answer would thus clear the cookie of a login that
  // has ended meanwhile, so the plugin does not see the cookie again.
  app.addHook('onRequest', async (request) => {
    delete request.cookies[cookieName]
  })
}

const unlessByToken = (hook: onRequestHookHandler, cookieName: string): onRequestHookHandler =>
  function (request, reply, done) {
    if (request.headers.authorization !== undefined && request.cookies[cookieName] === undefined) done()
    else hook.call(this, request, reply, done)
  }

/** 256 random bits cannot be guessed. */
export const newSecret = () => randomBytes(32).toString('base64url')
