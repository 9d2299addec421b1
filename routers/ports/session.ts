import type { LoginMethod, Registrant } from '../../entities/identity/session.ts'
import type { KnownUser } from '../../entities/identity/user.sql.ts'
import { isSameSecret } from './constant-time.ts'
import type { Locale } from './locales.ts'
import type { Identity } from './login.ts'

/** The owner of a session: a user, or a person who is registering. */
export type SessionSubject = { user: KnownUser } | { registering: Registrant }

export interface NewSession {
  /** A person as read before the login was verified. */
  subject: SessionSubject
  method: LoginMethod
}

export interface SessionRecord extends NewSession {
  /** Public name of the session; it gives no access. */
  handle: string
  csrfToken: string
  /** Milliseconds, like all times here. */
  signedInAt: number
  /** Time of the last renewal. */
  renewedAt: number
  /** The language chosen in this session. */
  locale?: Locale | undefined
}

/** Color schemes of pages: the system's, or the person's choice. */
export const schemes = ['system', 'light', 'dark'] as const
export type Scheme = (typeof schemes)[number]

/** The browser of a call. Calls with a token or from the host have none. */
export interface BrowserSession {
  readonly session: SessionRecord | undefined
  /** The network address, for throttles. */
  readonly address: string
  /** Returns the person whom the reverse proxy has signed in. */
  forwardedIdentity(): Identity | undefined
  /** Ends the current session, and starts another with a new id. */
  start(session: NewSession): Promise<void>
  /** Continues the session for this user with a new id; throws if it has ended. */
  replace(user: KnownUser): Promise<void>
  /** Ends the current session. */
  destroy(): Promise<void>
  /** Stores a language, also in the session if there is one. */
  setLocale(locale: Locale): Promise<void>
  /** Stores a color scheme. */
  setScheme(scheme: Scheme): void
  /** Sealed state between the redirect to a provider and the return. */
  readonly loginState: string | undefined
  setLoginState(sealed: string | undefined): void
  /** Sealed list of the accounts that signed in before. */
  readonly knownAccounts: string | undefined
  setKnownAccounts(sealed: string): void
}

/** Compares CSRF tokens in constant time. */
export const hasCsrfToken = ({ csrfToken }: SessionRecord, token: string): boolean => isSameSecret(token, csrfToken)
