import { coalescedStatement } from '../sql/statement.ts'
import { isCallable } from './ai-tool.sql.ts'
import type { ToolKind } from './ai-tool.ts'
import type { CallableServerRow } from './mcp-server.sql.ts'
import { approvalVersion } from './tool-approval.sql.ts'

/** The offers of one kind that a tool server makes to the same groups. */
export interface ServerOfferRow {
  offer: {
    kind: ToolKind
    groups: string[]
    mcp: { server: Pick<CallableServerRow, 'id' | 'label' | 'groups' | 'gateway'> }
  }
}

const selectOffers = (
  measure: string,
) => `select json_build_object('kind', t.kind, 'groups', t.groups, 'mcp', json_build_object('server', json_build_object(
            'id', s.id, 'label', s.server_label, 'groups', s.groups, 'gateway', s.gateway))) as offer, ${measure}
     from ai_tools t join mcp_servers s on s.id = t.server_id
    where ${isCallable('t', 's', 't.kind')} group by s.id, t.kind, t.groups order by s.id, t.kind, t.groups`

/** Counts what may be called now of each tool server, by kind and groups. */
export const listServerOffers = coalescedStatement<ServerOfferRow & { count: number }>(
  'list-server-offers',
  selectOffers('count(*)::int as count'),
)

/** Returns for the same a text that changes with what is listed of it. */
export const listOfferVersions = coalescedStatement<ServerOfferRow & { version: string }>(
  'list-offer-versions',
  selectOffers(`md5(string_agg(t.name || ${approvalVersion('t', 's')}, ' ' order by t.name)) as version`),
)
