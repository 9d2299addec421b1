import type { Ability } from '../identity/access-token.ts'
import { letsIn, ownerVersion, tokensWithOwners } from '../identity/token-owner.sql.ts'
import type { Role } from '../identity/user.ts'
import { coalescedStatement, isoTime, statement } from '../sql/statement.ts'

export interface TokenOwner {
  tokenId: number
  hash: string
  abilities: Ability[]
  userId: number
  username: string
  name: string
  email: string
  role: Role
  groups: string[]
  /** The app that holds it. */
  appId: number | null
  /** Another one once anything of the person has changed. */
  version: string
}

/** Values: the ids of tokens. Expired ones are not found, nor those of apps whose link is gone or that are switched off. */
export const findTokenOwners = coalescedStatement<TokenOwner>(
  'find-token-owners',
  `select t.id as "tokenId", t.hash, to_json(t.abilities) as abilities, u.id as "userId", u.username, u.name, u.email, u.role,
          to_json(u.groups) as groups, l.app_id as "appId", ${ownerVersion} as version
     from ${tokensWithOwners}
    where t.id = any($1::int[]) and ${letsIn}`,
  { idsAt: 0 },
)

export interface CredentialApp {
  credentialId: number
  hash: string
  appId: number
  name: string
  createdAt: string
  updatedAt: string
}

/** Values: the ids of credentials of apps. Expired ones are not found, nor those of apps that are switched off. */
export const findCredentialApps = coalescedStatement<CredentialApp>(
  'find-credential-apps',
  `select c.id as "credentialId", c.hash, a.id as "appId", a.name, ${isoTime('a.created_at')} as "createdAt",
          ${isoTime('a.updated_at')} as "updatedAt"
     from ext_app_credentials c join ext_apps a on a.id = c.app_id
    where c.id = any($1::int[]) and a.active and (c.expires_at is null or c.expires_at > now())`,
  { idsAt: 0 },
)

/** Values: ids of credentials of apps and, beside them, when each was last used. */
export const touchCredentials = statement<never>(
  'touch-app-credentials',
  `update ext_app_credentials c set last_used_at = used.at
     from unnest($1::int[], $2::timestamptz[]) as used(id, at)
    where c.id = used.id and (c.last_used_at is null or c.last_used_at < used.at)`,
)

/** Values: an app, and when its credentials end that would hold longer. */
export const limitCredentials = statement<never>(
  'limit-app-credentials',
  `update ext_app_credentials set expires_at = $2::timestamptz
    where app_id = $1::int and (expires_at is null or expires_at > $2::timestamptz)`,
)
