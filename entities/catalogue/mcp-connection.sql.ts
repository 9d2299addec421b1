import { User } from '../identity/user.ts'
import { isoTime, statement } from '../sql/statement.ts'
import type { ConnectionState } from './mcp-connection.ts'

/** An administrator has entered this service as this client of an authorization server by now. */
interface EnteredClient {
  clientId: string | null
  /** Sealed. */
  clientSecret: string | null
  issuer: string | null
}

const enteredClient = `json_build_object(
  'clientId', s.oauth_client_id, 'clientSecret', s.oauth_client_secret, 'issuer', s.oauth_issuer) as entered`

/** The sealed secrets of a connection. */
export interface SealedConnection {
  client: string
  tokens: string | null
  /** Absent if nothing can have changed since the account was connected. */
  entered?: EnteredClient
}

export interface ConnectionRow extends SealedConnection {
  id: number
  state: ConnectionState
  /** True if the access token has ended, or will within ten seconds. */
  hasEnded: boolean
}

/** Finds the account of one person at one server. Values: the ids of the person and the server, and its address. */
export const findConnection = statement<ConnectionRow>(
  'find-tool-connection',
  `select c.id, c.client, c.tokens, c.state, ${enteredClient},
          coalesce(c.expires_at < now() + interval '10 seconds', false) as "hasEnded"
     from mcp_connections c join mcp_servers s on s.id = c.server_id
    where c.user_id = $1 and c.server_id = $2 and c.url = $3 and s.url = c.url and s.account = 'person'`,
)

/**
 * Lets one process refresh the tokens, if they are still these. Values: the id, the sealed tokens, and the seconds that
 * it may take.
 */
export const claimRefresh = statement<{ id: number }>(
  'claim-tool-refresh',
  `update mcp_connections set refresh_until = now() + make_interval(secs => $3)
    where id = $1 and tokens = $2 and state = 'active' and (refresh_until is null or refresh_until < now()) returning id`,
)

/** Values: the id, the earlier and the new sealed tokens, and the seconds until the new access token ends or null. */
export const writeRefreshed = statement<{ id: number }>(
  'write-refreshed-tokens',
  `update mcp_connections set tokens = $3, expires_at = now() + make_interval(secs => $4), refresh_until = null,
          updated_at = now()
    where id = $1 and tokens = $2 returning id`,
)

/** Lets others refresh after a failure that may pass. Values: the id and the sealed tokens. */
export const releaseRefresh = statement<never>(
  'release-tool-refresh',
  'update mcp_connections set refresh_until = null where id = $1 and tokens = $2',
)

/** Marks an account whose tokens the server refuses. Values: the id and the sealed tokens. */
export const expireConnection = statement<never>(
  'expire-tool-connection',
  `update mcp_connections set state = 'expired', tokens = null, expires_at = null, refresh_until = null, updated_at = now()
    where id = $1 and tokens = $2`,
)

/** A server at which people have their own accounts. */
export interface AccountServerRow extends EnteredClient {
  id: number
  label: string
  url: string
  transport: string
  scopes: string[] | null
}

/** The person may use the server. Administrators connect accounts at all of them, to read their tools. */
const isForPerson = (person: string) => `exists (select from ${User.tableName} u where u.id = ${person}
      and (u.role = 'admin' or s.groups = '{}' or s.groups && u.groups))`

/** Values: the ids of the server and of the person; null for all servers, and those of everybody. */
export const listAccountServers = statement<AccountServerRow>(
  'list-account-servers',
  `select s.id, s.server_label as label, s.url, s.transport, s.oauth_client_id as "clientId",
          s.oauth_client_secret as "clientSecret", s.oauth_scopes as scopes, s.oauth_issuer as issuer
     from mcp_servers s where s.account = 'person' and ($1::int is null or s.id = $1) and ($2::int is null or ${isForPerson('$2::int')})
    order by s.id`,
)

export interface OwnAccountRow {
  server: number
  label: string
  description: string | null
  state: ConnectionState | null
  account: string | null
  scopes: string[] | null
  connectedAt: string | null
}

/** Lists the servers with own accounts, and the caller's own at each. Values: the person's id. */
export const listOwnAccounts = statement<OwnAccountRow>(
  'list-own-tool-accounts',
  `select s.id as server, s.server_label as label, s.description, c.state, c.account, c.scopes,
          ${isoTime('c.created_at')} as "connectedAt"
     from mcp_servers s left join mcp_connections c on c.server_id = s.id and c.user_id = $1 and c.url = s.url
    where s.account = 'person' and (c.id is not null or ${isForPerson('$1')})
    order by s.server_label, s.id limit 500`,
)

/**
 * Writes a connection in place of an earlier one. Values: the ids of the person and the server, its address, the
 * issuer, the sealed client and tokens, the scopes as JSON, the seconds until the access token ends or null, and the
 * account's name. Selects the earlier one; writes and selects nothing if the server has meanwhile got another address.
 */
export const writeConnection = statement<{ earlier: SealedConnection | null }>(
  'write-tool-connection',
  `with earlier as (
   select c.client, c.tokens, ${enteredClient} from mcp_connections c join mcp_servers s on s.id = c.server_id
    where c.user_id = $1 and c.server_id = $2 for update of c
   ), written as (
   insert into mcp_connections (user_id, server_id, url, issuer, client, tokens, scopes, expires_at, account)
   select $1, s.id, s.url, $4, $5, $6, $7::jsonb, now() + make_interval(secs => $8), $9
     from mcp_servers s left join earlier on true where s.id = $2 and s.url = $3 and s.account = 'person'
   on conflict (user_id, server_id) do update
      set url = excluded.url, issuer = excluded.issuer, client = excluded.client, tokens = excluded.tokens,
          scopes = excluded.scopes, expires_at = excluded.expires_at, account = excluded.account, state = 'active',
          refresh_until = null, created_at = now(), updated_at = now()
   returning id
   ) select row_to_json(earlier) as earlier from written left join earlier on true`,
)

/** Finds our registration for an account that still has tokens. Values: the ids of the person and the server. */
export const findConnectedClient = statement<{ client: string }>(
  'find-connected-client',
  'select client from mcp_connections where user_id = $1 and server_id = $2 and tokens is not null',
)

/** Ends a person's connections. Values: the ids of the person, and of the server or null for all. */
export const deleteConnectionsOfUser = statement<SealedConnection>(
  'delete-tool-connections-of-user',
  `delete from mcp_connections c using mcp_servers s
    where s.id = c.server_id and c.user_id = $1 and ($2::int is null or s.id = $2)
   returning c.client, c.tokens, ${enteredClient}`,
)

/** Ends the connections that no longer fit their server. Values: the id of the server or null for all. */
export const deleteUnfitConnections = statement<SealedConnection>(
  'delete-unfit-tool-connections',
  `delete from mcp_connections c using mcp_servers s
    where s.id = c.server_id and ($1::int is null or s.id = $1) and (c.url <> s.url or s.account <> 'person')
   returning c.client, c.tokens, ${enteredClient}`,
)

/** Ends all connections of servers that are about to be deleted. Values: the ids of the servers. */
export const deleteConnectionsOfServers = statement<SealedConnection>(
  'delete-tool-connections-of-servers',
  `delete from mcp_connections c using mcp_servers s
    where s.id = c.server_id and s.id = any($1) returning c.client, c.tokens, ${enteredClient}`,
)
