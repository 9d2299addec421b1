import { promisify } from 'node:util'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { renewSession, setSessionLocale } from '../../entities/identity/session.sql.ts'
import type { KnownUser } from '../../entities/identity/user.sql.ts'
import type { Sql } from '../../entities/sql/statement.ts'
import { SCHEME_COOKIE } from '../../facades/web/document.ts'
import { Problem } from '../../routers/core/problems.ts'
import { KNOWN_BROWSER_DAYS } from '../../routers/identity/sessions/known-browser.ts'
import type { Locale } from '../../routers/ports/locales.ts'
import type { HeaderSource } from '../../routers/ports/login.ts'
import type { BrowserSession, NewSession, Scheme, SessionRecord } from '../../routers/ports/session.ts'
import type { RequestSession } from '../stores/sessions.ts'
import { LOCALE_COOKIE } from './request-locale.ts'
import { createSecret } from './session-plugin.ts'

/** The path to which a login provider redirects the browser. */
const LOGIN_STATE_PATH = '/req/login'
const LOGIN_STATE_SECONDS = 15 * 60

const KNOWN_SECONDS = KNOWN_BROWSER_DAYS * 24 * 60 * 60

const LOCALE_SECONDS = 120 * 24 * 60 * 60
const SCHEME_SECONDS = 365 * 24 * 60 * 60

const MINUTE_MS = 60_000

export interface BrowserOptions {
  sql: Sql
  header: HeaderSource | undefined
  /** Lifetime of a session in milliseconds. */
  lifetime: number
}

/** The session and the cookies of the browser that sent a request. */
export class RequestBrowser implements BrowserSession {
  readonly #options: BrowserOptions
  readonly #request: FastifyRequest
  readonly #reply: FastifyReply

  constructor(options: BrowserOptions, request: FastifyRequest, reply: FastifyReply) {
    this.#options = options
    this.#request = request
    this.#reply = reply
  }

  get #names() {
    return this.#request.server.names
  }

  get session() {
    return findStoredSession(this.#request)
  }

  get address() {
    return this.#request.ip
  }

  forwardedIdentity() {
    const { raw, socket } = this.#request
    return this.#options.header?.read(raw.headersDistinct, socket.remoteAddress)
  }

  async start({ subject, method }: NewSession) {
    const { session } = this
    if (session) await this.#request.session.regenerate()
    const now = Date.now()
    const userAgent = this.#request.headers['user-agent']?.slice(0, 200)
    const initial = { signedInAt: now, renewedAt: now, csrfToken: createSecret(), userAgent, locale: session?.locale }
    await this.#save({ subject, method, ...initial })
  }

  async replace(user: KnownUser) {
    const { session } = this
    if (!session) throw new Problem('signed_out')
    await this.#forget()
    await this.#save({ ...session, subject: { user }, csrfToken: createSecret(), renewedAt: Date.now() })
  }

  async destroy() {
    if (this.session) await this.#request.session.regenerate()
    this.#reply.clearCookie(this.#names.sessionCookie)
  }

  /**
   * Extends the session and its cookie, at most once a minute, so that most requests write nothing. The request does not wait
   * for the write.
   */
  renew(): void {
    const { session } = this
    const pause = Math.min(MINUTE_MS, this.#options.lifetime / 4)
    if (!session || Date.now() - session.renewedAt < pause) return
    const { session: sent, log } = this.#request
    this.#reply.setCookie(this.#names.sessionCookie, sent.encryptedSessionId)
    const warn = (error: unknown) => log.warn({ error }, 'a session could not be renewed')
    this.#options.sql(renewSession, [session.handle, new Date()]).catch(warn)
  }

  async setLocale(locale: Locale) {
    this.#reply.setCookie(LOCALE_COOKIE, locale, { maxAge: LOCALE_SECONDS })
    if (this.session) await this.#options.sql(setSessionLocale, [this.session.handle, locale])
  }

  setScheme(scheme: Scheme) {
    if (scheme === 'system') this.#reply.clearCookie(SCHEME_COOKIE)
    else this.#reply.setCookie(SCHEME_COOKIE, scheme, { maxAge: SCHEME_SECONDS })
  }

  get loginState() {
    return this.#request.cookies[this.#names.loginCookie]
  }

  setLoginState(sealed: string | undefined) {
    const path = LOGIN_STATE_PATH
    if (sealed === undefined) this.#reply.clearCookie(this.#names.loginCookie, { path })
    else this.#reply.setCookie(this.#names.loginCookie, sealed, { path, maxAge: LOGIN_STATE_SECONDS })
  }

  get knownAccounts() {
    return this.#request.cookies[this.#names.knownCookie]
  }

  setKnownAccounts(sealed: string) {
    this.#reply.setCookie(this.#names.knownCookie, sealed, { maxAge: KNOWN_SECONDS })
  }

  /** Detaches the request from its stored session and gives it a new, empty one. */
  async #forget() {
    const { server } = this.#request
    await promisify(server.decryptSession.bind(server, '', this.#request))()
  }

  /** Saves the session immediately; its cookie is sent with the response. */
  async #save(record: RequestSession) {
    const { session } = this.#request
    session.record = record
    try {
      await session.save()
    } catch (error) {
      // Otherwise the plugin would save the session again with the error response.
      await this.#forget()
      throw error
    }
  }
}

/** Returns the session of a request, if it is stored. */
export function findStoredSession({ session }: FastifyRequest): SessionRecord | undefined {
  const record = session?.record
  return record?.handle === undefined ? undefined : (record as SessionRecord)
}
