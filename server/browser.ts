import type { FastifyReply, FastifyRequest } from 'fastify'
import { sessionCookie } from '../facades/json-api/wire.ts'
import type { HeaderSource } from '../routers/login-source.ts'
import type { Browser, NewSession, SessionRecord } from '../routers/session.ts'
import { readCookie, writeCookie } from './cookies.ts'
import type { Sessions } from './sessions.ts'

const PENDING_COOKIE = 'svc_login'

/** Where a provider sends the browser back to. */
const PENDING_PATH = '/req/login'
const PENDING_SECONDS = 15 * 60

export interface BrowserOptions {
  sessions: Sessions
  header: HeaderSource | undefined
  /** Whether cookies go over encrypted connections only. */
  secure: boolean
}

/** The session that a request names. */
export interface Named {
  id: string
  record: SessionRecord
}

/** The browser that sent a request; what it is to keep goes into the reply. */
export function createBrowser(
  { sessions, header, secure }: BrowserOptions,
  { request, reply, named }: { request: FastifyRequest; reply: FastifyReply; named?: Named | undefined },
): Browser {
  let current = named
  const tell = (name: string, value: string, { path = '/', maxAge = 0 } = {}) =>
    reply.header('set-cookie', writeCookie({ name, value, path, maxAge, secure }))

  return {
    get session() {
      return current?.record
    },
    get expiresAt() {
      return current && current.record.renewedAt + sessions.lifetime
    },
    address: request.ip,
    proxied: () => header?.read(request.raw.headersDistinct, request.socket.remoteAddress),
    async begin(session: NewSession) {
      const fresh = await sessions.begin(session)
      if (current) await sessions.end(current.id)
      current = fresh
      tell(sessionCookie, fresh.id, { maxAge: Math.ceil(sessions.lifetime / 1000) })
    },
    async end() {
      if (current) await sessions.end(current.id)
      current = undefined
      tell(sessionCookie, '')
    },
    get pending() {
      return readCookie(request.headers.cookie, PENDING_COOKIE)
    },
    keepPending(sealed) {
      const maxAge = sealed === undefined ? 0 : PENDING_SECONDS
      tell(PENDING_COOKIE, sealed ?? '', { path: PENDING_PATH, maxAge })
    },
  }
}
