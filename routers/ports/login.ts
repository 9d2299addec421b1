import { z } from 'zod'
import { type LoginSourceName, loginSourceNames, MAX_SUBJECT } from '../../entities/identity/user.ts'
import type { RateLimitStatus } from './rate-limiter.ts'
import { removeDuplicates } from './remove-duplicates.ts'

/** Normalizes case, whitespace and Unicode composition. */
export const lowerCaseText = () => z.string().max(1000).trim().toLowerCase().normalize('NFC')

/** Marks that disguise a text by changing its direction. */
const BIDI_OVERRIDES = /[\u202a-\u202e\u2066-\u2069]/g

export const username = lowerCaseText().regex(
  /^(?!.*\p{Default_Ignorable_Code_Point})[\p{L}\p{N}][\p{L}\p{M}\p{N}._@+'-]{0,119}$/u,
  "must start with a letter or digit and hold only letters, digits and . _ @ + ' -, at most 120",
)

const EMAIL =
  /^(?!\.)(?!.*\.\.)(?!.*\p{Default_Ignorable_Code_Point})[\p{L}\p{M}\p{N}_'+.-]*[\p{L}\p{M}\p{N}_+-]@(?:[\p{L}\p{N}][\p{L}\p{M}\p{N}-]*\.)+\p{L}[\p{L}\p{M}\p{N}-]*[\p{L}\p{M}\p{N}]$/u

/** Accepts letters of any script on both sides of the `@`. */
export const email = lowerCaseText().max(254).regex(EMAIL, 'must be an e-mail address')

/** The display name of a person. */
export const personName = z
  .string()
  .normalize('NFC')
  .overwrite((name) => name.replace(BIDI_OVERRIDES, ''))
  .trim()
  .min(1, 'must not be empty')
  .max(120, 'must have at most 120 characters')
  .regex(/^[^\p{Cc}\p{Zl}\p{Zp}]*$/u, 'must be one line')

/** The name of a group, perhaps as a directory spells it. */
export const groupName = z
  .string()
  .trim()
  .min(1)
  .max(200)
  .regex(/^[^\p{Cc}\p{Zl}\p{Zp}]*$/u, 'must be one line')

export const MAX_GROUPS = 200

/** The groups in a command; a call counts once per group. */
export const groupNames = z.array(groupName).max(MAX_GROUPS).transform(removeDuplicates)

/** The groups from a login source; invalid ones are dropped, and refuse nobody. */
const groups = z
  .array(z.unknown())
  .readonly()
  .transform((names): readonly string[] =>
    removeDuplicates(names.flatMap((one) => groupName.safeParse(one).data ?? [])).slice(0, MAX_GROUPS),
  )

/** The source, a colon, and the source's permanent id of the person. */
export const subject = z
  .string()
  .trim()
  .max(MAX_SUBJECT, `must have at most ${MAX_SUBJECT} characters`)
  .regex(
    new RegExp(`^(?:${loginSourceNames.join('|')}):[^\\p{Cc}]+$`, 'u'),
    `must begin with ${loginSourceNames.slice(0, -1).join(':, ')}: or ${loginSourceNames.at(-1)}:`,
  )

/** Returns the login source in a subject. */
export const sourceOf = (subject: string) => subject.slice(0, subject.indexOf(':')) as LoginSourceName

/** Data about a person from a login source. */
export const personShape = {
  username,
  email,
  name: personName,
  /** Absent if the source does not provide them. */
  groups: groups.optional(),
}

/** A verified identity from a login source. It never contains permissions. */
export interface Identity extends z.output<z.ZodObject<typeof personShape>> {
  subject: string
  /** The subject from before the source provided a permanent id. */
  formerSubject?: string | undefined
}

/**
 * The account name that a person types, normalized so that throttles and sources agree. A Windows domain in front of a
 * username is removed.
 */
export const account = z.preprocess(
  (typed) => (typeof typed === 'string' ? stripDomain(typed) : typed),
  z.union([username, email]),
)

/** Removes the domain of `DOMAIN\username`, as Windows writes it. */
export const stripDomain = (username: string) => username.replace(/^[^\\]*\\/, '')

/** A login source with accounts and passwords. */
export interface PasswordSource {
  /**
   * Verifies a password; undefined if account or password are unknown. Throws `unavailable` if the source does not
   * respond, and another problem if the password is right but the person's data cannot be used.
   */
  verify(account: string, password: string): Promise<Identity | undefined>
}

/** The state between the redirect to a provider and the return; it is valid for one return. */
export interface AuthorizationState {
  state: string
  nonce: string
  verifier: string
  /** Expiry, in milliseconds. */
  until: number
}

/** A login source that redirects the browser. */
export interface RedirectSource {
  begin(): Promise<{ url: string; pending: AuthorizationState }>
  /** Completes the login; `query` is the query string of the return address. Throws like `verify`. */
  finish(query: string, pending: AuthorizationState): Promise<Identity | undefined>
  /** Returns the provider's sign-out address, if there is one. Never throws. */
  logoutUrl(): Promise<string | undefined>
}

/** All values of each header, not joined. */
export type DistinctHeaders = Record<string, string[] | undefined>

/** A login source that trusts the headers of a reverse proxy. */
export interface HeaderSource {
  /**
   * Reads the identity; `remoteAddress` is the peer of the connection, never a forwarding header. Throws like `verify`.
   */
  read(headers: DistinctHeaders, remoteAddress: string | undefined): Identity | undefined
  loginUrl?: string | undefined
  logoutUrl?: string | undefined
}

/** The configured login sources. */
export interface LoginSources {
  password?: PasswordSource
  redirect?: RedirectSource
  header?: HeaderSource
}

export interface LoginAttempt {
  /** The account in normalized form. */
  account: string
  address: string
  /**
   * Set if the account signed in before in this browser, which then has its own count, so that others cannot lock it
   * out.
   */
  browserId?: string | undefined
}

export interface LoginThrottle {
  /**
   * Counts an attempt before it is made, so that concurrent attempts count, too. It is refused if `remaining` is
   * negative.
   */
  consume(attempt: LoginAttempt): Promise<RateLimitStatus>
  /** Refunds an attempt that no source could judge. */
  refund(attempt: LoginAttempt): Promise<void>
  /** Refunds a successful attempt, and resets the failures of its account. */
  recordSuccess(attempt: LoginAttempt): Promise<void>
}
