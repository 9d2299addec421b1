import { timingSafeEqual } from 'node:crypto'
import type { LoginMethod, Registrant } from '../../entities/identity/session.ts'
import type { KnownUser } from '../../entities/identity/user.sql.ts'
import type { Locale } from './locales.ts'
import type { Identity } from './login.ts'

/** Who a session belongs to: a person we know, or somebody who is still registering. */
export type SessionSubject = { user: KnownUser } | { registering: Registrant }

export interface NewSession {
  /** A person as they were before they proved who they are. */
  subject: SessionSubject
  method: LoginMethod
}

export interface SessionRecord extends NewSession {
  /** What the session is called where its owner sees it. It opens nothing. */
  handle: string
  csrfToken: string
  /** In milliseconds, as are all times here. */
  signedInAt: number
  /** When its time began to run anew. */
  renewedAt: number
  /** The language that was chosen in it. */
  locale?: Locale | undefined
}

/** How light the pages are: as the system has it, or as somebody chose. */
export const schemes = ['system', 'light', 'dark'] as const
export type Scheme = (typeof schemes)[number]

/** The browser at the other end of a call. A call with a token, or from the host, has none. */
export interface BrowserSession {
  readonly session: SessionRecord | undefined
  /** Where it calls from, for throttles. */
  readonly address: string
  /** Whom the reverse proxy in front says it has signed in. */
  forwardedIdentity(): Identity | undefined
  /** Ends the session there is, and starts another under an id that nobody knows yet. */
  start(session: NewSession): Promise<void>
  /** Goes on with the session, which is this person's from now on, under an id that nobody knows yet; throws where it has ended. */
  replace(user: KnownUser): Promise<void>
  /** Ends the session there is. */
  destroy(): Promise<void>
  /** Remembers a language, in the session too where there is one. */
  setLocale(locale: Locale): Promise<void>
  /** Remembers how light the pages are to be. */
  setScheme(scheme: Scheme): void
  /** What it keeps, sealed, between leaving for a provider and coming back. */
  readonly loginState: string | undefined
  setLoginState(sealed: string | undefined): void
  /** What it keeps, sealed, of the accounts that signed in before. */
  readonly knownAccounts: string | undefined
  setKnownAccounts(sealed: string): void
}

/** Takes as long for a wrong token as for the right one. */
export function hasCsrfToken({ csrfToken }: SessionRecord, token: string): boolean {
  const [given, expected] = [Buffer.from(token), Buffer.from(csrfToken)]
  return given.length === expected.length && timingSafeEqual(given, expected)
}
