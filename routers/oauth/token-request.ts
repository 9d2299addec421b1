import { z } from 'zod'
import { DAY_MS } from '../ports/days.ts'
import { MAX_CLIENT_ID } from './oauth-client.ts'

const MAX_VALUE = 4000
export const parameter = z.string().max(MAX_VALUE)

export const clientCredentials = {
  clientId: z.string().min(1).max(MAX_CLIENT_ID),
  clientSecret: parameter.optional(),
}

/** Parameters of RFC 6749 and those that extend it, in camel case. */
export const tokenRequest = z.strictObject({
  ...clientCredentials,
  grantType: parameter,
  code: parameter.optional(),
  redirectUri: parameter.optional(),
  codeVerifier: parameter.optional(),
  refreshToken: parameter.optional(),
  resources: z.array(parameter).max(10).default([]),
  userAgent: z.string().max(2000).optional(),
})
export type TokenRequest = z.output<typeof tokenRequest>

/** The answer of the token endpoint. */
export interface IssuedTokens {
  accessToken: string
  refreshToken: string
  /** Seconds that the access token is still valid. */
  expiresIn: number
  scope: string
}

/** A grant ends after this time, however often it is refreshed. */
const LONGEST_MS = 365 * DAY_MS

/** Returns the end of a grant that is refreshed now; all in milliseconds since 1970. */
export const computeEnd = (createdAt: number, now: number, lifetime: number): number =>
  Math.min(now + lifetime, createdAt + LONGEST_MS)

export const toIssuedTokens = (
  { accessToken, refreshToken }: Pick<IssuedTokens, 'accessToken' | 'refreshToken'>,
  { expiresAt, abilities }: { expiresAt: number; abilities: readonly string[] },
  now: number,
): IssuedTokens => ({
  accessToken,
  refreshToken,
  expiresIn: Math.max(0, Math.floor((expiresAt - now) / 1000)),
  scope: abilities.join(' '),
})
