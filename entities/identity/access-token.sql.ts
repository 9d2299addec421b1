import { isoTime, statement } from '../sql/statement.ts'
import type { Ability } from './access-token.ts'

export interface TokenRecord {
  id: number
  name: string
  abilities: Ability[]
  createdAt: string
  lastUsedAt: string | null
  expiresAt: string | null
}

const tokensOf = `select id, name, abilities, ${isoTime('created_at')} as "createdAt",
          ${isoTime('last_used_at')} as "lastUsedAt", ${isoTime('expires_at')} as "expiresAt"
     from access_tokens where user_id = $1`

/** Values: the owner's id. Lists only valid tokens. */
export const listTokens = statement<TokenRecord>(
  'list-tokens',
  `${tokensOf} and (expires_at is null or expires_at > now()) order by id`,
)

/** Values: the owner's id. Also lists expired tokens. */
export const listAllTokens = statement<TokenRecord>('list-all-tokens', `${tokensOf} order by id`)

/** Values: the owner's id. */
export const listTokenIds = statement<{ id: number }>(
  'list-token-ids',
  'select id from access_tokens where user_id = $1',
)

/** Values: how many at most. Deletes personal tokens that expired a month ago; what was asked with them stays, without them. */
export const deleteExpiredTokens = statement<{ id: number }>(
  'delete-expired-tokens',
  `delete from access_tokens where id = any(array(
     select id from access_tokens where holder = 'person' and expires_at < now() - interval '30 days'
      order by id limit $1 for update skip locked))
   returning id`,
)

/** Values: its id. */
export const deleteToken = statement<never>('delete-token', 'delete from access_tokens where id = $1')
