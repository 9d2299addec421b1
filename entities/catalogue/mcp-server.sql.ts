import { statement } from '../sql/statement.ts'
import type { McpServer } from './mcp-server.ts'
import { isAsApproved } from './tool-approval.sql.ts'

/** A tool server with everything that a call needs. */
export interface CallableServerRow
  extends Pick<
    McpServer,
    'id' | 'url' | 'transport' | 'requireApproval' | 'groups' | 'gateway' | 'offers' | 'account'
  > {
  label: string
  /** The last negotiated protocol version; null before the first contact. */
  protocolVersion: string | null
  /** Sealed, like the configuration. */
  apiKey: string | null
  additionalConfig: string | null
  /** A price such as `0.005 EUR`; null if calls cost nothing. */
  pricePerCall: string | null
  /** In milliseconds. */
  timeouts: { connect?: number; read?: number; sseIdle?: number }
}

/** Selects a tool server as JSON. */
export const callableServer = (s: string) => `json_build_object('id', ${s}.id, 'label', ${s}.server_label,
    'url', ${s}.url, 'transport', ${s}.transport, 'requireApproval', ${s}.require_approval,
    'groups', ${s}.groups, 'gateway', ${s}.gateway, 'offers', ${s}.offers,
    'protocolVersion', ${s}.protocol_version, 'apiKey', ${s}.api_key, 'additionalConfig', ${s}.additional_config,
    'timeouts', ${s}.timeouts, 'account', ${s}.account, 'pricePerCall', ${s}.price_per_call)`

export const listToolServers = statement<{ server: CallableServerRow }>(
  'list-tool-servers',
  `select ${callableServer('s')} as server from mcp_servers s order by s.id`,
)

export interface ServerSummary
  extends Pick<
    McpServer,
    | 'id'
    | 'url'
    | 'transport'
    | 'requireApproval'
    | 'groups'
    | 'gateway'
    | 'offers'
    | 'status'
    | 'version'
    | 'account'
    | 'pricePerCall'
    | 'oauthClientId'
    | 'oauthScopes'
    | 'oauthIssuer'
  > {
  label: string
  protocolVersion: string | null
  /** Numbers of its tools, and of those that models may call. */
  tools: number
  active: number
  /** Number of people who have connected an account of their own. */
  connections: number
}

export const listServers = statement<ServerSummary>(
  'list-servers',
  `select s.id, to_json(s.groups) as groups, s.gateway, to_json(s.offers) as offers, s.server_label as label, s.transport, s.url, s.status, s.version, s.protocol_version as "protocolVersion",
          s.require_approval as "requireApproval", s.account, s.price_per_call as "pricePerCall", s.oauth_client_id as "oauthClientId",
          s.oauth_scopes as "oauthScopes", s.oauth_issuer as "oauthIssuer",
          (select count(*)::int from mcp_connections c where c.server_id = s.id and c.state = 'active') as connections,
          count(t.id)::int as tools,
          (count(t.id) filter (where t.active and ${isAsApproved('t')}))::int as active
     from mcp_servers s left join ai_tools t on t.server_id = s.id and t.kind = 'tool' group by s.id order by s.id`,
)
