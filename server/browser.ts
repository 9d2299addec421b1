import type { FastifyReply, FastifyRequest } from 'fastify'
import { sessionCookie } from '../facades/json-api/wire.ts'
import type { HeaderSource } from '../routers/login-source.ts'
import type { Browser, NewSession } from '../routers/session.ts'
import { readCookie, writeCookie } from './cookies.ts'
import { LOCALE_COOKIE } from './locale.ts'
import { handleOf, type Named, type Sessions } from './sessions.ts'

const PENDING_COOKIE = 'svc_login'

/** Where a provider sends the browser back to. */
const PENDING_PATH = '/req/login'
const PENDING_SECONDS = 15 * 60

const LOCALE_SECONDS = 120 * 24 * 60 * 60

export interface BrowserOptions {
  sessions: Sessions
  header: HeaderSource | undefined
  /** Whether cookies go over encrypted connections only. */
  secure: boolean
}

/** The browser that sent a request; what it is to keep goes into the reply. */
export function createBrowser(
  { sessions, header, secure }: BrowserOptions,
  { request, reply, named }: { request: FastifyRequest; reply: FastifyReply; named?: Named | undefined },
): Browser {
  let current = named
  const { headers } = request
  const tell = (name: string, value: string, { path = '/', maxAge = 0 } = {}) =>
    reply.header('set-cookie', writeCookie({ name, value, path, maxAge, secure }))
  const go = async (next: Named | undefined) => {
    if (current) await sessions.end(current)
    current = next
    tell(sessionCookie, next?.id ?? '', { maxAge: next ? Math.ceil(sessions.lifetime / 1000) : 0 })
  }

  return {
    get session() {
      return current?.record
    },
    get handle() {
      return current && handleOf(current.id)
    },
    get expiresAt() {
      return current && current.record.renewedAt + sessions.lifetime
    },
    address: request.ip,
    proxied: () => header?.read(request.raw.headersDistinct, request.socket.remoteAddress),
    begin: async (session: NewSession) => go(await sessions.begin({ ...session, ...keptOf(headers, current) })),
    end: () => go(undefined),
    async keepLocale(locale) {
      tell(LOCALE_COOKIE, locale, { maxAge: LOCALE_SECONDS })
      if (current) current = await sessions.change(current, { locale })
    },
    get pending() {
      return readCookie(headers.cookie, PENDING_COOKIE)
    },
    keepPending(sealed) {
      const maxAge = sealed === undefined ? 0 : PENDING_SECONDS
      tell(PENDING_COOKIE, sealed ?? '', { path: PENDING_PATH, maxAge })
    },
  }
}

/** What a new session knows of its browser; longer names than these say nothing more. */
const keptOf = ({ 'user-agent': userAgent }: FastifyRequest['headers'], before: Named | undefined) => ({
  userAgent: userAgent?.slice(0, 200),
  locale: before?.record.locale,
})
