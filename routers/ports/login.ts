import { z } from 'zod'
import { type LoginSourceName, loginSourceNames, MAX_SUBJECT } from '../../entities/identity/user.ts'
import type { RateLimitStatus } from './rate-limiter.ts'

/** One spelling of letters that can be composed in several ways. */
export const lowerCaseText = () => z.string().max(1000).trim().toLowerCase().normalize('NFC')

/** Marks that let a text look like another one, by turning what stands behind them round. */
const BIDI_OVERRIDES = /[\u202a-\u202e\u2066-\u2069]/g

export const username = lowerCaseText().regex(
  /^(?!.*\p{Default_Ignorable_Code_Point})[\p{L}\p{N}][\p{L}\p{M}\p{N}._@+'-]{0,119}$/u,
  "must start with a letter or digit and hold only letters, digits and . _ @ + ' -, at most 120",
)

const EMAIL =
  /^(?!\.)(?!.*\.\.)(?!.*\p{Default_Ignorable_Code_Point})[\p{L}\p{M}\p{N}_'+.-]*[\p{L}\p{M}\p{N}_+-]@(?:[\p{L}\p{N}][\p{L}\p{M}\p{N}-]*\.)+\p{L}[\p{L}\p{M}\p{N}-]*[\p{L}\p{M}\p{N}]$/u

/** Also one with letters of any script, in front of the `@` and behind it. */
export const email = lowerCaseText().max(254).regex(EMAIL, 'must be an e-mail address')

/** The name that others see. */
export const personName = z
  .string()
  .normalize('NFC')
  .overwrite((name) => name.replace(BIDI_OVERRIDES, ''))
  .trim()
  .min(1, 'must not be empty')
  .max(120, 'must have at most 120 characters')
  .regex(/^[^\p{Cc}\p{Zl}\p{Zp}]*$/u, 'must be one line')

/** A group or a directory's name of one. */
export const groupName = z
  .string()
  .trim()
  .min(1)
  .max(200)
  .regex(/^[^\p{Cc}\p{Zl}\p{Zp}]*$/u, 'must be one line')

export const MAX_GROUPS = 200

/** Each once, as a call counts once for a group. */
const removeDuplicates = (groups: readonly string[]) => [...new Set(groups)]

/** The groups that a command names. */
export const groupNames = z.array(groupName).max(MAX_GROUPS).transform(removeDuplicates)

/** The groups that a source tells of. One that cannot be used keeps nobody out. */
const groups = z
  .array(z.unknown())
  .readonly()
  .transform((told): readonly string[] =>
    removeDuplicates(told.flatMap((one) => groupName.safeParse(one).data ?? [])).slice(0, MAX_GROUPS),
  )

/** The source, a colon, and what never changes there. */
export const subject = z
  .string()
  .trim()
  .max(MAX_SUBJECT, `must have at most ${MAX_SUBJECT} characters`)
  .regex(
    new RegExp(`^(?:${loginSourceNames.join('|')}):[^\\p{Cc}]+$`, 'u'),
    `must begin with ${loginSourceNames.slice(0, -1).join(':, ')}: or ${loginSourceNames.at(-1)}:`,
  )

/** What a subject begins with. */
export const sourceOf = (subject: string) => subject.slice(0, subject.indexOf(':')) as LoginSourceName

/** What a source tells of a person. */
export const personShape = {
  username,
  email,
  name: personName,
  /** Absent where the source does not tell. */
  groups: groups.optional(),
}

/** Who somebody is, as a source says that has checked it. What they may do is never taken from there. */
export interface Identity extends z.output<z.ZodObject<typeof personShape>> {
  subject: string
  /** What the subject was while the source told nothing that never changes. */
  formerSubject?: string | undefined
}

/**
 * What a person types as account: one spelling for each, so that throttles and sources mean the same. The domain of Windows in
 * front of a username is left out.
 */
export const account = z.preprocess(
  (typed) => (typeof typed === 'string' ? stripDomain(typed) : typed),
  z.union([username, email]),
)

/** Windows writes `DOMAIN\username`. */
export const stripDomain = (username: string) => username.replace(/^[^\\]*\\/, '')

/** Asks for an account and a password. */
export interface PasswordSource {
  /**
   * Undefined for every way of not knowing them. Throws the problem `unavailable` where the source does not answer, and
   * another one where the password is right and what the source tells of the person cannot be used.
   */
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
  /** `query` is what stands behind the `?` of the address the browser came back to. Throws as `verify` does. */
  finish(query: string, pending: AuthorizationState): Promise<Identity | undefined>
  /** Where to sign out at the provider, if it offers that. Never throws. */
  logoutUrl(): Promise<string | undefined>
}

/** Each header with all its values, none joined. */
export type DistinctHeaders = Record<string, string[] | undefined>

/** Believes a reverse proxy in front that has signed the person in. */
export interface HeaderSource {
  /** `remoteAddress` is the other end of the connection itself, never what a forwarding header says. Throws as `verify` does. */
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
  consume(attempt: LoginAttempt): Promise<RateLimitStatus>
  /** Uncounts an attempt on which no source gave an opinion. */
  refund(attempt: LoginAttempt): Promise<void>
  /** Uncounts an attempt that was right, and forgets the failures on its account. */
  recordSuccess(attempt: LoginAttempt): Promise<void>
}
