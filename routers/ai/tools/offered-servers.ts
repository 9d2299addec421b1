import { listServerOffers, type ServerOfferRow } from '../../../entities/catalogue/server-offers.sql.ts'
import type { DeepReadonly } from '../../../entities/sql/read-only.ts'
import { listUsableGroups } from '../../verbs/viewer.ts'
import type { ChatContext } from '../chat-context.ts'
import { isToolForGroups, isToolForProgram } from './tool-access.ts'

/** A tool server that programs of a person may use, with the numbers of what it offers them. */
export interface OfferedServer {
  id: number
  label: string
  tools: number
  prompts: number
  /** Resources, and templates of their addresses. */
  resources: number
}

/** Returns the tool servers that offer programs of the caller something now, in the order of their ids. */
export async function listServersForCaller({ services, caller }: ChatContext): Promise<OfferedServer[]> {
  const rows = await services.sql(listServerOffers)
  const groups = listUsableGroups(caller)
  const open = rows.filter(
    ({ offer }) => isToolForProgram(offer, caller.token?.grant) && isToolForGroups(offer, groups),
  )
  return [...Map.groupBy(open, ({ offer }) => offer.mcp.server.id).values()].flatMap(toServer)
}

const numberOf = { tool: 'tools', prompt: 'prompts', resource: 'resources', template: 'resources' } as const

function toServer(rows: readonly DeepReadonly<ServerOfferRow>[]): OfferedServer[] {
  const [first] = rows
  if (!first) return []
  const { id, label } = first.offer.mcp.server
  const server = { id, label, tools: 0, prompts: 0, resources: 0 }
  for (const { offer, count } of rows) server[numberOf[offer.kind]] += count
  return [server]
}
