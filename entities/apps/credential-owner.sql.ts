import { type Ability, AccessToken, type BoundModel, type EarlierSecret } from '../identity/access-token.ts'
import { Session } from '../identity/session.ts'
import { type Role, User } from '../identity/user.ts'
import { type ClientKind, OAuthClient } from '../oauth/oauth-client.ts'
import { OAuthGrant } from '../oauth/oauth-grant.ts'
import { coalescedStatement, isoTime, statement } from '../sql/statement.ts'

/** Tokens `t`, their owners `u`, and the apps `a` that hold them by links `l`, or the clients `c` by grants `g`. */
const tokensWithOwners = `${AccessToken.tableName} t join ${User.tableName} u on u.id = t.user_id
          left join ext_app_links l on l.token_id = t.id left join ext_apps a on a.id = l.app_id
          left join ${OAuthGrant.tableName} g on g.token_id = t.id left join ${OAuthClient.tableName} c on c.id = g.client_id`

/** SQL: the token is valid: not expired, its person not disabled, and the app or program that holds it may still use it. */
const isActive = `(t.expires_at is null or t.expires_at > now()) and not u.disabled
          and (t.holder = 'person' or a.active or (g.ends_at > now() and not c.blocked))`

export interface TokenOwner {
  tokenId: number
  hash: string
  abilities: Ability[]
  /** The models and assistants that it may ask; null for all. */
  models: BoundModel[] | null
  userId: number
  username: string
  name: string
  email: string
  role: Role
  groups: string[]
  /** The external app that holds the token. */
  appId: number | null
  /** The grant of the program that holds the token. */
  grantId: number | null
  /**
   * The others are null without a grant, `clientHost` also if its client has no document, and `servers` also if it is good
   * for all tool servers.
   */
  clientKind: ClientKind | null
  clientHost: string | null
  earlierSecrets: EarlierSecret[] | null
  resources: string[] | null
  servers: number[] | null
}

/**
 * Finds tokens with their owners, except expired ones and those of unlinked or inactive apps. Values: ids of tokens.
 */
export const findTokenOwners = coalescedStatement<TokenOwner>(
  'find-token-owners',
  `select t.id as "tokenId", t.hash, to_json(t.abilities) as abilities, t.models, u.id as "userId", u.username, u.name, u.email, u.role,
          to_json(u.groups) as groups, l.app_id as "appId", g.id as "grantId", c.kind as "clientKind", c.host as "clientHost",
          t.previous as "earlierSecrets", to_json(g.resources) as resources, to_json(g.servers) as servers
     from ${tokensWithOwners}
    where t.id = any($1::int[]) and ${isActive}`,
  { idsAt: 0, idColumn: 'tokenId' },
)

/** Records the last use of valid tokens. Values: ids of tokens and, beside them, times. */
export const touchTokens = statement<never>(
  'touch-tokens',
  `update ${AccessToken.tableName} t set last_used_at = used.at
     from unnest($1::int[], $2::timestamptz[]) as used(id, at)
    where t.id = used.id and (t.last_used_at is null or t.last_used_at < used.at)
      and t.id = any(array(select t.id from ${tokensWithOwners} where t.id = any($1::int[]) and ${isActive}))`,
)

/**
 * Lists credentials that are no longer valid. Values: hashes of sessions, the earliest renewal of a valid session, and
 * ids of tokens.
 */
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

/** Finds app credentials, except expired ones and those of inactive apps. Values: ids of credentials. */
export const findCredentialApps = coalescedStatement<CredentialApp>(
  'find-credential-apps',
  `select c.id as "credentialId", c.hash, a.id as "appId", a.name, ${isoTime('a.created_at')} as "createdAt",
          ${isoTime('a.updated_at')} as "updatedAt"
     from ext_app_credentials c join ext_apps a on a.id = c.app_id
    where c.id = any($1::int[]) and a.active and (c.expires_at is null or c.expires_at > now())`,
  { idsAt: 0, idColumn: 'credentialId' },
)

/** Records the last use of app credentials. Values: ids and, beside them, times. */
export const touchCredentials = statement<never>(
  'touch-app-credentials',
  `update ext_app_credentials c set last_used_at = used.at
     from unnest($1::int[], $2::timestamptz[]) as used(id, at)
    where c.id = used.id and (c.last_used_at is null or c.last_used_at < used.at)`,
)

/** Shortens the validity of an app's credentials. Values: the app, and the new expiry. */
export const limitCredentials = statement<never>(
  'limit-app-credentials',
  `update ext_app_credentials set expires_at = $2::timestamptz
    where app_id = $1::int and (expires_at is null or expires_at > $2::timestamptz)`,
)
