import type { Ability } from '../identity/access-token.ts'
import { epochMs, statement } from '../sql/statement.ts'
import { OAuthClient } from './oauth-client.ts'
import { OAuthCode } from './oauth-code.ts'

/**
 * Values: hash, client, person, redirect address, challenge, abilities, resources, ids of tool servers or null, and the
 * expiry.
 */
export const insertCode = statement<never>(
  'insert-oauth-code',
  `insert into ${OAuthCode.tableName}
     (hash, client_id, user_id, redirect_uri, challenge, abilities, resources, servers, expires_at)
   values ($1, $2::int, $3::int, $4, $5, $6::text[], $7::text[], $8::int[], $9::timestamptz)`,
)

export interface IssuedCode {
  /** Row id of the client. */
  client: number
  clientName: string
  userId: number
  redirectUri: string
  challenge: string
  abilities: Ability[]
  resources: string[]
  servers: number[] | null
  /** Milliseconds since 1970. */
  expiresAt: number
  /** Null until the code is used. */
  grantId: number | null
}

/** Locks a code of a client. Values: its hash, and the client's id as it is stored. */
export const lockCode = statement<IssuedCode>(
  'lock-oauth-code',
  `select c.id as client, c.name as "clientName", k.user_id as "userId", k.redirect_uri as "redirectUri", k.challenge,
          to_json(k.abilities) as abilities, to_json(k.resources) as resources, to_json(k.servers) as servers,
          ${epochMs('k.expires_at')} as "expiresAt", k.grant_id as "grantId"
     from ${OAuthCode.tableName} k join ${OAuthClient.tableName} c on c.id = k.client_id
    where k.hash = $1 and c.client_id = $2 and not c.blocked for update of k`,
)

/** Values: its hash, and the grant. */
export const setCodeGrant = statement<never>(
  'set-oauth-code-grant',
  `update ${OAuthCode.tableName} set grant_id = $2::int where hash = $1`,
)

/** Deletes the codes of a person, and waits for one that is being exchanged. Values: the person. */
export const deleteCodesOfUser = statement<never>(
  'delete-oauth-codes-of-user',
  `delete from ${OAuthCode.tableName} where user_id = $1::int`,
)

/** Deletes codes a day after their expiry. Values: the batch size. */
export const deleteExpiredCodes = statement<{ hash: string }>(
  'delete-expired-oauth-codes',
  `delete from ${OAuthCode.tableName} where hash = any(array(
     select hash from ${OAuthCode.tableName} where expires_at < now() - interval '1 day'
      order by expires_at limit $1 for update skip locked))
   returning hash`,
)
