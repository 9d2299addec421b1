import { coalescedStatement, isoTime, statement } from '../sql/statement.ts'
import type { Ability } from './access-token.ts'
import type { Role } from './user.ts'

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
}

/** Values: the ids of tokens. Expired ones are not found. */
export const findTokenOwners = coalescedStatement<TokenOwner>(
  'find-token-owners',
  `select t.id as "tokenId", t.hash, to_json(t.abilities) as abilities, u.id as "userId", u.username, u.name, u.email, u.role,
          to_json(u.groups) as groups
     from access_tokens t join users u on u.id = t.user_id
    where t.id = any($1::int[]) and (t.expires_at is null or t.expires_at > now())`,
  { idsAt: 0 },
)

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

/** Values: token ids and, beside them, when each was last used. */
export const touchTokens = statement<never>(
  'touch-tokens',
  `update access_tokens t set last_used_at = used.at
     from unnest($1::int[], $2::timestamptz[]) as used(id, at)
    where t.id = used.id and (t.last_used_at is null or t.last_used_at < used.at)`,
)
