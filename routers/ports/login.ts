import { z } from 'zod'
import type { RateLimitStatus } from './rate-limiter.ts'

export const lower = () => z.string().max(1000).trim().toLowerCase()

export const username = lower().regex(
  /^[a-z0-9][a-z0-9._@-]{0,119}$/,
  'must start with a letter or digit and hold only letters, digits and . _ @ -, at most 120',
)

export const email = lower().pipe(z.email('must be an e-mail address').max(254))

/** The name that others see. */
export const personName = z
  .string()
  .trim()
  .min(1, 'must not be empty')
  .max(120, 'must have at most 120 characters')
  .regex(/^[^\p{Cc}\p{Zl}\p{Zp}]*$/u, 'must be one line')

/** A group or a directory's name of one. */
const groupName = z
  .string()
  .trim()
  .min(1)
  .max(200)
  .regex(/^[^\p{Cc}\p{Zl}\p{Zp}]*$/u, 'must be one line')

const MAX_GROUPS = 200

/** Each once, as a call counts once for a group. */
const distinct = (groups: readonly string[]) => [...new Set(groups)]

/** The groups that a command names. */
export const groupNames = z.array(groupName).max(MAX_GROUPS).transform(distinct)

/** The groups that a source tells of. One that cannot be used keeps nobody out. */
const groups = z
  .array(z.unknown())
  .readonly()
  .transform((told): readonly string[] =>
    distinct(told.flatMap((one) => groupName.safeParse(one).data ?? [])).slice(0, MAX_GROUPS),
  )

/** Who somebody is, as a source says that has checked it. What they may do is never taken from there. */
export const identity = z.object({
  username,
  email,
  name: personName,
  /** Absent where the source does not tell. */
  groups: groups.optional(),
})
export type Identity = z.output<typeof identity>

/** What a person types as account: one spelling for each, so that throttles and sources mean the same. */
export const account = z.union([username, email])

/** Asks for an account and a password. */
export interface PasswordSource {
  /** Undefined for every way of not knowing them. Throws the problem `unavailable` where the source does not answer. */
  verify(account: string, password: string): Promise<Identity | undefined>
}

/** What the session keeps between leaving for a provider and coming back; good for one return only. */
export interface AuthorizationState {
  state: string
  nonce: string
  verifier: string
  /** When it is too late to come back, in milliseconds. */
  until: number
}

/** Sends the browser elsewhere to sign in. */
export interface RedirectSource {
  begin(): Promise<{ url: string; pending: AuthorizationState }>
  /** `query` is what stands behind the `?` of the address the browser came back to. */
  finish(query: string, pending: AuthorizationState): Promise<Identity | undefined>
  /** Where to sign out at the provider, if it offers that. Never throws. */
  logoutUrl(): Promise<string | undefined>
}

/** Each header with all its values, none joined. */
export type DistinctHeaders = Record<string, string[] | undefined>

/** Believes a reverse proxy in front that has signed the person in. */
export interface HeaderSource {
  /** `remoteAddress` is the other end of the connection itself, never what a forwarding header says. */
  read(headers: DistinctHeaders, remoteAddress: string | undefined): Identity | undefined
  loginUrl?: string | undefined
  logoutUrl?: string | undefined
}

/** The sources that are configured. */
export interface LoginSources {
  password?: PasswordSource
  redirect?: RedirectSource
  header?: HeaderSource
}

export interface LoginAttempt {
  /** As the schema of the login sources spells it. */
  account: string
  address: string
  /** Set where the account signed in before in this browser, which then has a count of its own: others cannot lock it. */
  browserId?: string | undefined
}

export interface LoginThrottle {
  /** Counts an attempt before it is made, so that no more are made at once. Refused where `remaining` is negative. */
  take(attempt: LoginAttempt): Promise<RateLimitStatus>
  /** Uncounts an attempt on which no source gave an opinion. */
  giveBack(attempt: LoginAttempt): Promise<void>
  /** Uncounts an attempt that was right, and forgets the failures on its account. */
  succeed(attempt: LoginAttempt): Promise<void>
}
