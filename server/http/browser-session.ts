import type { FastifyReply, FastifyRequest } from 'fastify'
import { knownCookie, loginCookie, sessionCookie } from '../../facades/http/names.ts'
import { KNOWN_BROWSER_DAYS } from '../../routers/identity/known-browser.ts'
import type { Locale } from '../../routers/ports/locales.ts'
import type { HeaderSource } from '../../routers/ports/login.ts'
import type { Browser, NewSession } from '../../routers/ports/session.ts'
import { handleOf, type Named, type Sessions } from '../stores/sessions.ts'
import { readCookie, writeCookie } from './cookies.ts'
import { LOCALE_COOKIE } from './request-locale.ts'

/** Where a provider sends the browser back to. */
const PENDING_PATH = '/req/login'
const PENDING_SECONDS = 15 * 60

const KNOWN_SECONDS = KNOWN_BROWSER_DAYS * 24 * 60 * 60

const LOCALE_SECONDS = 120 * 24 * 60 * 60

export interface BrowserOptions {
  sessions: Sessions
  header: HeaderSource | undefined
  /** Whether cookies go over encrypted connections only. */
  secure: boolean
}

interface Exchange {
  request: FastifyRequest
  reply: FastifyReply
  named?: Named | undefined
}

/**
 * The browser that sent a request; what it is to keep goes into the reply. A class, because V8 makes a shape of its own
 * for each object literal with getters, which outlives the request and holds all of it.
 */
export class RequestBrowser implements Browser {
  readonly #options: BrowserOptions
  readonly #request: FastifyRequest
  readonly #reply: FastifyReply
  #current: Named | undefined

  constructor(options: BrowserOptions, { request, reply, named }: Exchange) {
    this.#options = options
    this.#request = request
    this.#reply = reply
    this.#current = named
  }

  get session() {
    return this.#current?.record
  }

  get handle() {
    return this.#current && handleOf(this.#current.id)
  }

  get expiresAt() {
    return this.#current && this.#current.record.renewedAt + this.#options.sessions.lifetime
  }

  get address() {
    return this.#request.ip
  }

  get pending() {
    return readCookie(this.#request.headers.cookie, loginCookie)
  }

  proxied() {
    const { raw, socket } = this.#request
    return this.#options.header?.read(raw.headersDistinct, socket.remoteAddress)
  }

  async begin(session: NewSession) {
    const kept = keptOf(this.#request.headers, this.#current)
    await this.#goOn(await this.#options.sessions.begin({ ...session, ...kept }))
  }

  end() {
    return this.#goOn(undefined)
  }

  async keepLocale(locale: Locale) {
    this.#tell(LOCALE_COOKIE, locale, { maxAge: LOCALE_SECONDS })
    if (this.#current) this.#current = await this.#options.sessions.change(this.#current, { locale })
  }

  keepPending(sealed: string | undefined) {
    const maxAge = sealed === undefined ? 0 : PENDING_SECONDS
    this.#tell(loginCookie, sealed ?? '', { path: PENDING_PATH, maxAge })
  }

  get known() {
    return readCookie(this.#request.headers.cookie, knownCookie)
  }

  keepKnown(sealed: string) {
    this.#tell(knownCookie, sealed, { maxAge: KNOWN_SECONDS })
  }

  async #goOn(next: Named | undefined) {
    const { sessions } = this.#options
    if (this.#current) await sessions.end(this.#current)
    this.#current = next
    this.#tell(sessionCookie, next?.id ?? '', { maxAge: next ? Math.ceil(sessions.lifetime / 1000) : 0 })
  }

  #tell(name: string, value: string, { path = '/', maxAge = 0 } = {}) {
    const { secure } = this.#options
    this.#reply.header('set-cookie', writeCookie({ name, value, path, maxAge, secure }))
  }
}

/** What a new session knows of its browser; longer names than these say nothing more. */
const keptOf = ({ 'user-agent': userAgent }: FastifyRequest['headers'], before: Named | undefined) => ({
  userAgent: userAgent?.slice(0, 200),
  locale: before?.record.locale,
})
