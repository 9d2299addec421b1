import { McpServer } from '../catalogue/mcp-server.ts'
import { type Ability, AccessToken, type EarlierSecret } from '../identity/access-token.ts'
import { User } from '../identity/user.ts'
import { epochMs, isoTime, statement } from '../sql/statement.ts'
import { type ClientKind, OAuthClient } from './oauth-client.ts'
import { OAuthGrant } from './oauth-grant.ts'

const grants = OAuthGrant.tableName
const grantsWithTokens = `${grants} g join ${AccessToken.tableName} t on t.id = g.token_id`
const isRunning = 'g.ends_at > now()'

/** Creates the token of a grant, whose secret follows. Values: the person, name, a hash that nothing has, and abilities. */
export const createProgramToken = statement<{ id: number }>(
  'create-program-token',
  `insert into ${AccessToken.tableName} (user_id, name, hash, holder, abilities, expires_at)
   values ($1::int, $2, $3, 'program', $4::text[], now()) returning id`,
)

/** Values: person, client, token, salt, resources, ids of tool servers or null, start, end, and device or null. */
export const createGrant = statement<{ id: number }>(
  'create-oauth-grant',
  `insert into ${grants} (user_id, client_id, token_id, salt, resources, servers, rotated_at, ends_at, device)
   values ($1::int, $2::int, $3::int, $4, $5::text[], $6::int[], $7::timestamptz, $8::timestamptz, $9) returning id`,
)

/** Values: the token, its new hash, earlier secrets as JSON, and the expiry. */
export const setTokenSecret = statement<never>(
  'set-program-token-secret',
  `update ${AccessToken.tableName} set hash = $2, previous = $3::jsonb, expires_at = $4::timestamptz, updated_at = now()
    where id = $1::int`,
)

/** A grant as its refresh needs it. All times are milliseconds since 1970. */
export interface LockedGrant {
  id: number
  userId: number
  tokenId: number
  salt: string
  generation: number
  rotatedAt: number
  createdAt: number
  endsAt: number
  resources: string[]
  /** The client's id as it is stored. */
  clientId: string
  clientName: string
  clientHost: string | null
  blocked: boolean
  disabled: boolean
  hash: string
  previous: EarlierSecret[] | null
  expiresAt: number
  abilities: Ability[]
}

/** Locks a grant against other refreshes. Values: its id. */
export const lockGrant = statement<LockedGrant>(
  'lock-oauth-grant',
  `select g.id, g.user_id as "userId", g.token_id as "tokenId", g.salt, g.generation,
          ${epochMs('g.rotated_at')} as "rotatedAt", ${epochMs('g.created_at')} as "createdAt",
          ${epochMs('g.ends_at')} as "endsAt", to_json(g.resources) as resources, c.client_id as "clientId",
          c.name as "clientName", c.host as "clientHost", c.blocked, u.disabled, t.hash, t.previous,
          ${epochMs('t.expires_at')} as "expiresAt", to_json(t.abilities) as abilities
     from ${grantsWithTokens} join ${OAuthClient.tableName} c on c.id = g.client_id
     join ${User.tableName} u on u.id = g.user_id
    where g.id = $1::int for update of g, t`,
)

/** Values: the grant, its generation, when it was rotated, and its end. */
export const rotateGrant = statement<never>(
  'rotate-oauth-grant',
  `update ${grants} set generation = $2::int, rotated_at = $3::timestamptz, ends_at = $4::timestamptz, updated_at = now()
    where id = $1::int`,
)

/** Ends a grant whose refresh token was used again, and leaves the row, so that the person sees why. Values: its id. */
export const endReplayedGrant = statement<never>(
  'end-replayed-oauth-grant',
  `update ${grants} set ends_at = now(), replayed_at = now(), updated_at = now() where id = $1::int`,
)

export interface EndedGrant {
  id: number
  tokenId: number
  userId: number
  clientName: string
  clientHost: string | null
}

/** Deletes a grant with its token. Values: its id, and its person or null for any. */
export const deleteGrant = statement<EndedGrant>(
  'delete-oauth-grant',
  `delete from ${AccessToken.tableName} t using ${grants} g, ${OAuthClient.tableName} c
    where g.token_id = t.id and c.id = g.client_id and g.id = $1::int and ($2::int is null or g.user_id = $2::int)
    returning g.id, t.id as "tokenId", g.user_id as "userId", c.name as "clientName", c.host as "clientHost"`,
)

/** Deletes the running grants of a person with their tokens. Values: the person. */
export const deleteGrantsOfUser = statement<{ tokenId: number }>(
  'delete-oauth-grants-of-user',
  `delete from ${AccessToken.tableName} where id = any(array(
     select t.id from ${grantsWithTokens} where g.user_id = $1::int and ${isRunning} order by g.id for update of g, t))
   returning id as "tokenId"`,
)

/** Finds the grants of a person beyond the given number, those that were used last being kept. Values: person, number. */
export const findExcessGrants = statement<{ id: number }>(
  'find-excess-oauth-grants',
  `select g.id from ${grantsWithTokens} where g.user_id = $1::int and ${isRunning}
    order by coalesce(t.last_used_at, g.created_at) desc, g.id desc offset $2::int`,
)

/** Values: the row id of a client. */
export const listGrantTokens = statement<{ tokenId: number }>(
  'list-oauth-grant-tokens',
  `select token_id as "tokenId" from ${grants} where client_id = $1::int`,
)

export interface ListedGrant {
  id: number
  /** The token by which limits, usage and audit name the program. */
  tokenId: number
  name: string
  /** The host of the client's document; null if nobody vouches for the name, or an administrator does. */
  host: string | null
  kind: ClientKind
  abilities: Ability[]
  resources: string[]
  /** Null for all, also those that are added later. */
  servers: { id: number; label: string }[] | null
  device: string | null
  createdAt: string
  lastUsedAt: string | null
  endsAt: string
  /** Set if it ended because an old refresh token was used again. */
  replayedAt: string | null
}

/** Lists the running grants of a person, and those that a replay has ended. Values: the person. */
export const listGrants = statement<ListedGrant>(
  'list-oauth-grants',
  `select g.id, g.token_id as "tokenId", c.name, c.host, c.kind, to_json(t.abilities) as abilities,
          to_json(g.resources) as resources,
          case when g.servers is not null then
            (select coalesce(json_agg(json_build_object('id', s.id, 'label', s.server_label) order by s.server_label), '[]')
               from ${McpServer.tableName} s where s.id = any(g.servers)) end as servers,
          g.device, ${isoTime('g.created_at')} as "createdAt", ${isoTime('t.last_used_at')} as "lastUsedAt",
          ${isoTime('g.ends_at')} as "endsAt", ${isoTime('g.replayed_at')} as "replayedAt"
     from ${grantsWithTokens} join ${OAuthClient.tableName} c on c.id = g.client_id
    where g.user_id = $1::int and (${isRunning} or g.replayed_at is not null) order by g.id`,
)

export interface LastConsent {
  servers: number[] | null
  /** True if the document of the client has since named other addresses. */
  hasNewAddresses: boolean
}

/** Finds what a person allowed a client last. Values: person, and the client's id as it is stored. */
export const findLastConsent = statement<LastConsent>(
  'find-last-oauth-consent',
  `select to_json(g.servers) as servers, coalesce(c.redirects_changed_at > g.created_at, false) as "hasNewAddresses"
     from ${grants} g join ${OAuthClient.tableName} c on c.id = g.client_id
    where g.user_id = $1::int and c.client_id = $2 order by g.id desc limit 1`,
)

/** Deletes grants that have ended, those that a replay ended after a month. Values: the batch size. */
export const deleteEndedGrants = statement<{ id: number }>(
  'delete-ended-oauth-grants',
  `delete from ${AccessToken.tableName} where id = any(array(
     select g.token_id from ${grants} g
      where g.ends_at < now() and (g.replayed_at is null or g.replayed_at < now() - interval '30 days')
      order by g.token_id limit $1 for update skip locked))
   returning id`,
)

/** Values: the id of a token. */
export const findGrantOfToken = statement<{ id: number }>(
  'find-oauth-grant-of-token',
  `select id from ${grants} where token_id = $1::int`,
)
