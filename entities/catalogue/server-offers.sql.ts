import { coalescedStatement } from '../sql/statement.ts'
import { isCallable } from './ai-tool.sql.ts'
import type { ToolKind } from './ai-tool.ts'
import type { CallableServerRow } from './mcp-server.sql.ts'

/** What a tool server offers of one kind to the same groups. */
export interface ServerOfferRow {
  offer: {
    kind: ToolKind
    groups: string[]
    mcp: { server: Pick<CallableServerRow, 'id' | 'label' | 'groups' | 'gateway'> }
  }
  count: number
}

/** Counts what may be called now of each tool server, by kind and groups. */
export const listServerOffers = coalescedStatement<ServerOfferRow>(
  'list-server-offers',
  `select json_build_object('kind', t.kind, 'groups', t.groups, 'mcp', json_build_object('server', json_build_object(
            'id', s.id, 'label', s.server_label, 'groups', s.groups, 'gateway', s.gateway))) as offer, count(*)::int as count
     from ai_tools t join mcp_servers s on s.id = t.server_id
    where ${isCallable('t', 's', 't.kind')} group by s.id, t.kind, t.groups order by s.id`,
)
