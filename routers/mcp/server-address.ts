import { z } from 'zod'
import type { ChatContext } from '../ai/chat-context.ts'
import { listServersForCaller, type OfferedServer } from '../ai/tools/offered-servers.ts'
import { toServerSlug } from '../catalogue/tools/tool-names.ts'
import { Problem } from '../core/problems.ts'

export const serverAddress = z
  .string()
  .max(120)
  .describe('The id of a tool server, or its label as its tools are named. Without one, all servers are meant.')

/** What a program learns where it opens the conversation, as it gives its model tools for each kind. */
export const offered = z.object({
  server: z.int().nullable().describe('The id of the tool server of the address. It is null for all servers.'),
  prompts: z.boolean(),
  resources: z.boolean().describe('True if there are resources, or templates of their addresses.'),
})
type Offered = z.output<typeof offered>

/** Finds what the servers of an address offer the caller. Throws if it names no server of theirs, or several. */
export async function findOffers(ctx: ChatContext, address: string | undefined): Promise<Offered> {
  const servers = await listServersForCaller(ctx)
  if (address === undefined) return { server: null, ...describeOffers(servers) }
  const server = findServer(servers, address)
  return { server: server.id, ...describeOffers([server]) }
}

const describeOffers = (servers: readonly OfferedServer[]) => ({
  prompts: servers.some(({ prompts }) => prompts > 0),
  resources: servers.some(({ resources }) => resources > 0),
})

/** An id comes before a label that is written the same. */
function findServer(servers: readonly OfferedServer[], address: string): OfferedServer {
  const byId = servers.find(({ id }) => String(id) === address)
  if (byId) return byId
  const [server, ...others] = servers.filter(({ label }) => toServerSlug(label) === address)
  if (!server) throw new Problem('not_found', { detail: 'There is no tool server of this name for you.' })
  if (others.length === 0) return server
  const addresses = [server, ...others].map(({ id }) => `/mcp/${id}`).join(', ')
  throw new Problem('not_found', { detail: `Several tool servers have this name. Use their ids: ${addresses}.` })
}
