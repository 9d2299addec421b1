import type { SourceRecord } from './identity.ts'

/** The names of the claims that describe a person. */
export interface OidcClaims {
  username: string
  email: string
  /** Where it is absent: first and last name, if named; else the claim `name`. Else the others of these, else the username. */
  name?: string | undefined
  firstName?: string | undefined
  lastName?: string | undefined
  groups?: string | undefined
}

export type Claims = Record<string, unknown>

/** What claims tell of a person. Some providers send a list where one text is meant. */
export function readClaims(claims: Claims, names: OidcClaims): SourceRecord {
  const { iss, sub } = claims
  return {
    subject: typeof iss === 'string' && typeof sub === 'string' ? `oidc:${iss} ${sub}` : undefined,
    usernames: listOf(claims[names.username]),
    emails: listOf(claims[names.email]),
    names: namesOf(claims, names),
    // Where it is missing, the person is in none.
    groups: names.groups === undefined ? undefined : listOf(claims[names.groups]),
  }
}

/** Whether nothing that the person needs is missing, so that nobody else has to be asked. */
export const hasNeededClaims = (claims: Claims, { username, email, groups }: OidcClaims): boolean =>
  [username, email, ...(groups === undefined ? [] : [groups])].every((name) => listOf(claims[name]).length > 0)

const listOf = (claim: unknown): unknown[] => [claim ?? []].flat()

function namesOf(claims: Claims, { name, firstName, lastName }: OidcClaims): unknown[] {
  const joined = (first: string, last: string) =>
    [claims[first], claims[last]].filter((part) => typeof part === 'string').join(' ')
  const isInParts = !name && (firstName !== undefined || lastName !== undefined)
  const parts = joined(firstName ?? 'given_name', lastName ?? 'family_name')
  const whole = [...listOf(claims[name ?? 'name']), ...listOf(claims['name'])]
  return isInParts ? [parts, ...whole] : [...whole, parts]
}
