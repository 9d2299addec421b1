import { randomBytes } from 'node:crypto'
import cookie from '@fastify/cookie'
import session, { type SessionStore } from '@fastify/session'
import type { FastifyInstance } from 'fastify'
import { sessionCookie } from '../../facades/http/names.ts'

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
  /** What cookies are signed with: the first signs, all are believed. Junk thus never reaches the store. */
  secrets: string[]
  secure: boolean
}

/** Gives the requests of these surfaces a session; it is stored, and its cookie sent, only once it is saved. */
export async function keepSessions(app: FastifyInstance, { store, secrets, secure }: SessionOptions): Promise<void> {
  await app.register(session, {
    store,
    secret: secrets,
    cookieName: sessionCookie,
    cookie: { secure, sameSite: 'lax' },
    saveUninitialized: false,
    rolling: false,
    idGenerator: newSecret,
  })
  // Once read, the cookie is forgotten: the plugin would have the browser delete that of a session which has ended, and
  // with it the one that another answer has just set.
  app.addHook('onRequest', async (request) => {
    request.cookies[sessionCookie] = undefined
  })
}

/** 256 random bits cannot be guessed. */
export const newSecret = () => randomBytes(32).toString('base64url')
