import { AccessToken } from '../identity/access-token.ts'
import { isoTime, statement } from '../sql/statement.ts'

export interface LinkSecrets {
  passkey: string | null
  apiToken: string
  privateKey: string | null
}

export interface FoundLink extends LinkSecrets {
  id: number
  userId: number
}

/** Finds a link, unless its token has expired. Values: the app, and the user there. */
export const findLink = statement<FoundLink>(
  'find-app-link',
  `select l.id, l.user_id as "userId", l.passkey, l.api_token as "apiToken", l.private_key as "privateKey"
     from ext_app_links l join ${AccessToken.tableName} t on t.id = l.token_id
    where l.app_id = $1::int and l.external_id = $2 and (t.expires_at is null or t.expires_at > now())`,
)

/** Locks a link, even if its token has expired. Values: the app, and the user there. */
export const lockLink = statement<{ userId: number; tokenId: number; expired: boolean }>(
  'lock-app-link',
  `select l.user_id as "userId", l.token_id as "tokenId", coalesce(t.expires_at <= now(), false) as expired
     from ext_app_links l join ${AccessToken.tableName} t on t.id = l.token_id
    where l.app_id = $1::int and l.external_id = $2 for update of t`,
)

export interface OwnLink {
  id: number
  appId: number
  appName: string
  withKeys: boolean
  abilities: string[]
  createdAt: string
  lastUsedAt: string | null
  expiresAt: string | null
}

/** Values: an app. */
export const listLinkTokens = statement<{ tokenId: number }>(
  'list-app-link-tokens',
  'select token_id as "tokenId" from ext_app_links where app_id = $1::int',
)

/** Values: a person, and an app or null for all. */
export const listOwnLinks = statement<OwnLink>(
  'list-own-app-links',
  `select l.id, a.id as "appId", a.name as "appName", l.passkey is not null as "withKeys", to_json(t.abilities) as abilities,
          ${isoTime('l.created_at')} as "createdAt", ${isoTime('t.last_used_at')} as "lastUsedAt",
          ${isoTime('t.expires_at')} as "expiresAt"
     from ext_app_links l join ext_apps a on a.id = l.app_id join ${AccessToken.tableName} t on t.id = l.token_id
    where l.user_id = $1::int and ($2::int is null or a.id = $2::int) order by l.id`,
)

/** Finds a link of an app that opens the keychain of a person. Values: the person. */
export const findLinkWithKeys = statement<{ id: number }>(
  'find-app-link-with-keys',
  `select l.id from ext_app_links l join ${AccessToken.tableName} t on t.id = l.token_id
    where l.user_id = $1::int and l.passkey is not null and (t.expires_at is null or t.expires_at > now()) limit 1`,
)

/** Values: a person whose keys have changed, so that the passkeys stored by apps are useless. */
export const endLinksWithKeys = statement<{ tokenId: number }>(
  'end-app-links-with-keys',
  `delete from ${AccessToken.tableName} t using ext_app_links l
    where l.token_id = t.id and l.user_id = $1::int and l.passkey is not null
    returning t.id as "tokenId"`,
)

/** Ends links by deleting their tokens. Values: an app, the user there, and a person, each null for all. */
export const endLinks = statement<{ id: number; tokenId: number }>(
  'end-app-links',
  `delete from ${AccessToken.tableName} t using ext_app_links l
    where l.token_id = t.id and ($1::int is null or l.app_id = $1::int) and ($2::text is null or l.external_id = $2)
      and ($3::int is null or l.user_id = $3::int)
    returning l.id, t.id as "tokenId"`,
)
