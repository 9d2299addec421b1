import { AccessToken } from '../identity/access-token.ts'
import { epochMs, isoTime, statement } from '../sql/statement.ts'
import { type ClientDocument, type ClientKind, OAuthClient } from './oauth-client.ts'
import { OAuthCode } from './oauth-code.ts'
import { OAuthGrant } from './oauth-grant.ts'

const clients = OAuthClient.tableName

export interface StoredClient {
  id: number
  kind: ClientKind
  name: string
  host: string | null
  redirectUris: string[]
  secretHash: string | null
  blocked: boolean
  document: ClientDocument | null
  /** Milliseconds since 1970, as the other. */
  fetchedAt: number | null
  freshUntil: number | null
}

/** Values: the client's id as it is stored. */
export const findClient = statement<StoredClient>(
  'find-oauth-client',
  `select id, kind, name, host, redirect_uris as "redirectUris", secret_hash as "secretHash", blocked, document,
          ${epochMs('fetched_at')} as "fetchedAt", ${epochMs('fresh_until')} as "freshUntil"
     from ${clients} where client_id = $1`,
)

/** Notes when the addresses of a row become others; their order does not matter. */
const noteChange = (row: string, after: string) =>
  `redirects_changed_at = case when ${row}.redirect_uris @> ${after} and ${row}.redirect_uris <@ ${after}
                                   then ${row}.redirects_changed_at else now() end`

/**
 * Stores the client of a person who consents; selects nothing if it is blocked. Values: the client's id as it is stored,
 * kind, name, host, redirect addresses, document as JSON, when it was fetched, and until when it is fresh.
 */
export const saveClient = statement<{ id: number }>(
  'save-oauth-client',
  `insert into ${clients} as c (client_id, kind, name, host, redirect_uris, document, fetched_at, fresh_until)
     values ($1, $2, $3, $4, $5::text[], $6::jsonb, $7::timestamptz, $8::timestamptz)
     on conflict (client_id) do update set updated_at = now(), name = excluded.name, redirect_uris = excluded.redirect_uris,
            ${noteChange('c', 'excluded.redirect_uris')}, document = excluded.document,
            fetched_at = excluded.fetched_at, fresh_until = excluded.fresh_until
       where not c.blocked
     returning id`,
)

/** Values: the client's id, name, redirect addresses, document as JSON, when it was fetched, and until when it is fresh. */
export const refreshClientDocument = statement<never>(
  'refresh-oauth-client-document',
  `update ${clients} as c set updated_at = now(), name = $2, redirect_uris = $3::text[],
          ${noteChange('c', '$3::text[]')}, document = $4::jsonb,
          fetched_at = $5::timestamptz, fresh_until = $6::timestamptz
    where client_id = $1`,
)

/**
 * Deletes clients that nobody uses any more and no administrator has registered or blocked. The hour leaves a consent
 * that is under way its row. Values: the batch size.
 */
export const deleteUnusedClients = statement<{ id: number }>(
  'delete-unused-oauth-clients',
  `delete from ${clients} where id = any(array(
     select c.id from ${clients} c
      where c.kind <> 'registered' and not c.blocked and c.updated_at < now() - interval '1 hour'
        and not exists (select from ${OAuthGrant.tableName} g where g.client_id = c.id)
        and not exists (select from ${OAuthCode.tableName} k where k.client_id = c.id)
      order by c.id limit $1 for update skip locked))
   returning id`,
)

export interface ListedClient {
  id: number
  kind: ClientKind
  /** Clients that registered themselves have the SHA-256 of their id. */
  clientId: string
  name: string
  host: string | null
  redirectUris: string[]
  hasSecret: boolean
  blocked: boolean
  /** Number of people who use it now. */
  people: number
  createdAt: string
  lastUsedAt: string | null
}

/**
 * Lists clients that are in use, registered or blocked, by name. Values: a part of the name or host or null, the number of
 * rows, and of those before them.
 */
export const listClients = statement<{ client: ListedClient; total: number }>(
  'list-oauth-clients',
  `select json_build_object('id', c.id, 'kind', c.kind, 'clientId', c.client_id, 'name', c.name, 'host', c.host,
            'redirectUris', c.redirect_uris, 'hasSecret', c.secret_hash is not null, 'blocked', c.blocked,
            'people', used.people, 'createdAt', ${isoTime('c.created_at')}, 'lastUsedAt', ${isoTime('used.last')}) as client,
          (count(*) over ())::int as total
     from ${clients} c
     cross join lateral (select count(distinct g.user_id)::int as people, max(t.last_used_at) as last
                           from ${OAuthGrant.tableName} g join ${AccessToken.tableName} t on t.id = g.token_id
                          where g.client_id = c.id and g.ends_at > now()) used
    where (c.kind = 'registered' or c.blocked or used.people > 0)
      and ($1::text is null or position(lower($1) in lower(c.name || ' ' || coalesce(c.host, ''))) > 0)
    order by lower(c.name), c.id limit $2::int offset $3::int`,
)

/** Locks a client. Values: its id here. */
export const lockClient = statement<{ name: string; host: string | null; kind: ClientKind; blocked: boolean }>(
  'lock-oauth-client',
  `select name, host, kind, blocked from ${clients} where id = $1::int for update`,
)

/** Values: its id here, and whether it is blocked. */
export const setClientBlocked = statement<never>(
  'set-oauth-client-blocked',
  `update ${clients} set blocked = $2, updated_at = now() where id = $1::int`,
)

/** Values: its id here, and the hash of its secret. */
export const setClientSecret = statement<never>(
  'set-oauth-client-secret',
  `update ${clients} set secret_hash = $2, updated_at = now() where id = $1::int`,
)

/** Registers a client. Values: its id, name, redirect addresses, and the hash of its secret or null. */
export const registerClient = statement<{ id: number }>(
  'register-oauth-client',
  `insert into ${clients} (client_id, kind, name, redirect_uris, secret_hash)
   values ($1, 'registered', $2, $3::text[], $4) returning id`,
)
