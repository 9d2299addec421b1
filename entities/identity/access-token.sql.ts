import { isoTime, statement } from '../sql/statement.ts'
import type { Ability } from './access-token.ts'

export interface TokenRecord {
  id: number
  name: string
  abilities: Ability[]
  /** The names of the models and assistants that it may ask; null for all. */
  models: string[] | null
  createdAt: string
  lastUsedAt: string | null
  expiresAt: string | null
}

/** SQL: the names to which a token is bound, in the order of its person. */
export const boundNames = (token: string) => `jsonb_path_query_array(${token}.models, '$[*].name') as models`

const selectTokensOfUser = `select id, name, abilities, ${boundNames('access_tokens')}, ${isoTime('created_at')} as "createdAt",
          ${isoTime('last_used_at')} as "lastUsedAt", ${isoTime('expires_at')} as "expiresAt"
     from access_tokens where user_id = $1`

/** Lists valid tokens, without those of programs, which have a list of their own. Values: the owner's id. */
export const listTokens = statement<TokenRecord>(
  'list-tokens',
  `${selectTokensOfUser} and holder <> 'program' and (expires_at is null or expires_at > now()) order by id`,
)

/** Lists all tokens, including expired ones. Values: the owner's id. */
export const listAllTokens = statement<TokenRecord>('list-all-tokens', `${selectTokensOfUser} order by id`)

/** Values: the owner's id. */
export const listTokenIds = statement<{ id: number }>(
  'list-token-ids',
  'select id from access_tokens where user_id = $1',
)

/** Deletes personal tokens that expired a month ago; usage records stay, without the token. Values: the batch size. */
export const deleteExpiredTokens = statement<{ id: number }>(
  'delete-expired-tokens',
  `delete from access_tokens where id = any(array(
     select id from access_tokens where holder = 'person' and expires_at < now() - interval '30 days'
      order by id limit $1 for update skip locked))
   returning id`,
)

/** Values: its id. */
export const deleteToken = statement<never>('delete-token', 'delete from access_tokens where id = $1')
