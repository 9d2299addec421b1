/** The names of the claims that describe a person. */
export interface OidcClaims {
  username: string
  email: string
  /** Where it is absent: first and last name, if named; else the claim `name`, else the username. */
  name?: string | undefined
  firstName?: string | undefined
  lastName?: string | undefined
  groups?: string | undefined
}

export type Claims = Record<string, unknown>

/** What claims tell of a person, still to be checked. */
export function identityOfClaims(claims: Claims, names: OidcClaims) {
  const username = claims[names.username]
  return { username, email: claims[names.email], name: nameOf(claims, names) ?? username, ...groupsOf(claims, names) }
}

/** A claim of one group may be a text; where it is missing, the person is in none. */
const groupsOf = (claims: Claims, { groups }: OidcClaims) =>
  groups === undefined ? {} : { groups: [claims[groups] ?? []].flat() }

function nameOf(claims: Claims, { name, firstName, lastName }: OidcClaims): unknown {
  if (name) return claims[name]
  if (!firstName && !lastName) return claims['name']
  const parts = [claims[firstName ?? 'firstname'], claims[lastName ?? 'lastname']]
  return parts.filter((part) => typeof part === 'string').join(' ')
}
