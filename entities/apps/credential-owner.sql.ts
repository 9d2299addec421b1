import { type Ability, AccessToken } from '../identity/access-token.ts'
import { Session } from '../identity/session.ts'
import { type Role, User } from '../identity/user.ts'
import { coalescedStatement, isoTime, statement } from '../sql/statement.ts'

/** Tokens `t`, their owners `u`, and the apps `a` that hold them by links `l`. */
const tokensWithOwners = `${AccessToken.tableName} t join ${User.tableName} u on u.id = t.user_id
          left join ext_app_links l on l.token_id = t.id left join ext_apps a on a.id = l.app_id`

/** A token that is good: it has not expired, its person is not disabled, and its app, if it has one, is linked and switched on. */
const isActive = `(t.expires_at is null or t.expires_at > now()) and not u.disabled and (t.holder = 'person' or a.active)`

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
}

/** Values: the ids of tokens. Expired ones are not found, nor those of apps whose link is gone or that are switched off. */
export const findTokenOwners = coalescedStatement<TokenOwner>(
  'find-token-owners',
  `select t.id as "tokenId", t.hash, to_json(t.abilities) as abilities, u.id as "userId", u.username, u.name, u.email, u.role,
          to_json(u.groups) as groups, l.app_id as "appId"
     from ${tokensWithOwners}
    where t.id = any($1::int[]) and ${isActive}`,
  { idsAt: 0 },
)

/** Values: token ids and, beside them, when each was last used. Those that let in no more stay as they were. */
export const touchTokens = statement<never>(
  'touch-tokens',
  `update ${AccessToken.tableName} t set last_used_at = used.at
     from unnest($1::int[], $2::timestamptz[]) as used(id, at)
    where t.id = used.id and (t.last_used_at is null or t.last_used_at < used.at)
      and t.id = any(array(select t.id from ${tokensWithOwners} where t.id = any($1::int[]) and ${isActive}))`,
)

/** Values: hashes of sessions, the earliest renewal of a session that has not expired, and ids of tokens. Lists those that no longer hold. */
export const findEndedCredentials = statement<{ session: string | null; token: number | null }>(
  'find-ended-credentials',
  `select given.session, null::int as token from unnest($1::text[]) as given (session)
    where not exists (select from ${Session.tableName} s where s.hash = given.session and s.renewed_at > $2::timestamptz)
   union all
   select null, given.token from unnest($3::int[]) as given (token)
    where not exists (select from ${tokensWithOwners} where t.id = given.token and ${isActive})`,
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
