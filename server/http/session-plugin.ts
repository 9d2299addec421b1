import { randomBytes } from 'node:crypto'
import cookie from '@fastify/cookie'
import session, { type SessionStore } from '@fastify/session'
import type { FastifyInstance, FastifyRequest } from 'fastify'

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

export interface SessionOptions {
  store: SessionStore
  /** The first signs cookies, all verify them; a cookie with an invalid signature never reaches the store. */
  secrets: string[]
  /** Whether the session that a request may have counts. */
  counts: (request: FastifyRequest) => boolean
}

/**
 * Gives the requests of these surfaces a session where it counts; whoever saves it sends its cookie. The hooks of the plugin
 * stay behind in a scope without routes: they make a session for every request, and send cookies of their own.
 */
export async function keepSessions(app: FastifyInstance, { store, secrets, counts }: SessionOptions): Promise<void> {
  await app.register(async (apart) => {
    await apart.register(session, { store, secret: secrets, idGenerator: newSecret })
    app.decorate('decryptSession', apart.decryptSession)
  })
  app.decorateRequest('session')
  app.addHook('onRequest', (request, _, done) => {
    if (counts(request)) app.decryptSession(request.cookies[app.names.sessionCookie] ?? '', request, done)
    else done()
  })
}

/** 256 random bits cannot be guessed. */
export const newSecret = () => randomBytes(32).toString('base64url')
