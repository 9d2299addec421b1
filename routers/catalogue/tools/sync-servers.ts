import type { EntityManager } from '@mikro-orm/postgresql'
import { McpServer } from '../../../entities/catalogue/mcp-server.ts'
import type { Services } from '../../core/services.ts'
import type { ServerConfig } from '../../ports/ai/server-config.ts'
import { writeServer } from './sync-server.ts'

/** Writes the tool servers of the file; those that left it go with their tools. */
export async function syncServers(
  em: EntityManager,
  services: Pick<Services, 'vault' | 'log'>,
  configs: readonly ServerConfig[],
): Promise<void> {
  const rows = await em.find(McpServer, {}, { populate: ['tools'] })
  const known = rowsOf(rows, configs)
  const found = new Set(known.values())
  const gone = rows.filter((row) => row.synced && !found.has(row))
  for (const row of gone) em.remove([...row.tools.getItems(), row])
  // Their addresses are free from here on.
  await em.flush()
  const kept = rows.filter((row) => !gone.includes(row))
  for (const config of configs) {
    const row = known.get(config)
    const isTaken = kept.some((other) => other !== row && other.url === config.url)
    writeServer(em, services, config, { row, isTaken })
    await em.flush()
  }
}

/**
 * Which row each server of the file has: the one that the file had at this address last, whatever an administrator made of
 * it; else the one that is at this address; else the one that the file had by this label, which has moved.
 */
function rowsOf(rows: readonly McpServer[], configs: readonly ServerConfig[]): Map<ServerConfig, McpServer> {
  const free = new Set(rows)
  const found = new Map<ServerConfig, McpServer>()
  const claim = (isMeant: (row: McpServer, config: ServerConfig) => boolean) => {
    for (const config of configs.filter((config) => !found.has(config))) {
      const row = [...free].find((row) => isMeant(row, config))
      if (!row) continue
      free.delete(row)
      found.set(config, row)
    }
  }
  claim(({ synced }, { url }) => synced?.['url'] === url)
  claim((row, { url }) => row.url === url)
  claim(({ synced }, { label }) => synced?.['serverLabel'] === label)
  return found
}
