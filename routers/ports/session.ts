import { timingSafeEqual } from 'node:crypto'
import type { Locale } from './locales.ts'
import type { Identity } from './login.ts'

/** How somebody signed in, and so where they sign out. */
export type SignIn = 'password' | 'redirect' | 'header'

/** Who a session belongs to: a person whose sessions were not ended since, or somebody who is still registering. */
export type Standing = { userId: number; epoch: number } | { registering: Identity }

export interface NewSession {
  standing: Standing
  by: SignIn
  /** In milliseconds. */
  signedInAt: number
}

export interface SessionRecord extends NewSession {
  csrfToken: string
  /** When its time began to run anew, in milliseconds. */
  renewedAt: number
  /** What the browser called itself when the session began. */
  userAgent?: string | undefined
  /** The language that was chosen in it. */
  locale?: Locale | undefined
}

/** The browser at the other end of a call. A call with a token, or from the host, has none. */
export interface Browser {
  readonly session: SessionRecord | undefined
  /** What the session is called where its owner sees it. */
  readonly handle: string | undefined
  /** When the session ends unless it is used, in milliseconds. */
  readonly expiresAt: number | undefined
  /** Where it calls from, for throttles. */
  readonly address: string
  /** Whom the reverse proxy in front says it has signed in. */
  proxied(): Identity | undefined
  /** Ends the session there is, and goes on in a new one under an id that nobody knows yet. */
  begin(session: NewSession): Promise<void>
  end(): Promise<void>
  /** Remembers a language, in the session too where there is one. */
  keepLocale(locale: Locale): Promise<void>
  /** What it keeps between leaving for a provider and coming back. */
  readonly pending: string | undefined
  keepPending(sealed: string | undefined): void
  /** What it keeps of the accounts that signed in before. */
  readonly known: string | undefined
  keepKnown(sealed: string): void
}

const FRESH = 5 * 60_000

/** Whether both are of one person, and nothing ended the sessions of the person between them. */
export const isSameStanding = (one: Standing, other: Standing) =>
  'userId' in one && 'userId' in other && one.userId === other.userId && one.epoch === other.epoch

/** Whether the person proved just now who they are. */
export const isFresh = ({ signedInAt }: SessionRecord) => Date.now() - signedInAt < FRESH

/** Takes as long for a wrong token as for the right one. */
export function hasCsrfToken({ csrfToken }: SessionRecord, token: string): boolean {
  const [given, expected] = [Buffer.from(token), Buffer.from(csrfToken)]
  return given.length === expected.length && timingSafeEqual(given, expected)
}
