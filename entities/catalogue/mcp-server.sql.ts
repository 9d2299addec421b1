import { statement } from '../sql/statement.ts'
import type { McpServer } from './mcp-server.ts'

/** A tool server as a call needs it. */
export interface CallableServerRow extends Pick<McpServer, 'id' | 'url' | 'transport' | 'requireApproval'> {
  label: string
  /** What it spoke last; null before anybody asked it. */
  protocolVersion: string | null
  /** Sealed, as the configuration. */
  apiKey: string | null
  additionalConfig: string | null
  /** In milliseconds. */
  timeouts: { connect?: number; read?: number; sseIdle?: number }
}

/** Selects a tool server as JSON. */
export const callableServer = (s: string) => `json_build_object('id', ${s}.id, 'label', ${s}.server_label,
    'url', ${s}.url, 'transport', ${s}.transport, 'requireApproval', ${s}.require_approval,
    'protocolVersion', ${s}.protocol_version, 'apiKey', ${s}.api_key, 'additionalConfig', ${s}.additional_config,
    'timeouts', ${s}.timeouts)`

export const listToolServers = statement<{ server: CallableServerRow }>(
  'list-tool-servers',
  `select ${callableServer('s')} as server from mcp_servers s order by s.id`,
)
