import {
  listOfferVersions,
  listServerOffers,
  type ServerOfferRow,
} from '../../../entities/catalogue/server-offers.sql.ts'
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
export async function listServersForCaller(ctx: ChatContext): Promise<OfferedServer[]> {
  const rows = selectOpen(ctx, await ctx.services.sql(listServerOffers))
  return [...Map.groupBy(rows, ({ offer }) => offer.mcp.server.id).values()].flatMap(toServer)
}

type ListVersions = Record<'tools' | 'prompts' | 'resources', string>

/** Returns texts that change with what programs of the caller are listed of a tool server, or of all. */
export async function readListVersions(ctx: ChatContext, server: number | undefined): Promise<ListVersions> {
  const versions = { tools: '', prompts: '', resources: '' }
  for (const { offer, version } of selectOpen(ctx, await ctx.services.sql(listOfferVersions)))
    if (server === undefined || offer.mcp.server.id === server) versions[listOf[offer.kind]] += `${version} `
  return versions
}

/** Leaves out what is closed to programs of the caller. */
function selectOpen<Row extends DeepReadonly<ServerOfferRow>>({ caller }: ChatContext, rows: readonly Row[]): Row[] {
  const groups = listUsableGroups(caller)
  return rows.filter(({ offer }) => isToolForProgram(offer, caller.token?.grant) && isToolForGroups(offer, groups))
}

const listOf = { tool: 'tools', prompt: 'prompts', resource: 'resources', template: 'resources' } as const

function toServer(rows: readonly DeepReadonly<ServerOfferRow & { count: number }>[]): OfferedServer[] {
  const [first] = rows
  if (!first) return []
  const { id, label } = first.offer.mcp.server
  const server = { id, label, tools: 0, prompts: 0, resources: 0 }
  for (const { offer, count } of rows) server[listOf[offer.kind]] += count
  return [server]
}
