import type { EntityManager } from '@mikro-orm/postgresql'
import { McpServer } from '../../../entities/catalogue/mcp-server.ts'
import type { Services } from '../../core/services.ts'
import type { ServerConfig } from '../../ports/ai/model-config.ts'
import { SERVER_CONFIG, SERVER_KEY, type Vault } from '../../ports/vault.ts'
import { keepIfEqual, mergeUntouched, toJson } from '../sync-merge.ts'

/** Writes the tool servers of the file, which are known by their addresses; those that left it go with their tools. */
export async function syncServers(
  em: EntityManager,
  { vault }: Pick<Services, 'vault'>,
  configs: readonly ServerConfig[],
): Promise<void> {
  const rows = new Map((await em.find(McpServer, {}, { populate: ['tools'] })).map((row) => [row.url, row]))
  for (const config of configs) {
    writeServer(em, vault, config, rows.get(config.url))
    rows.delete(config.url)
  }
  const gone = [...rows.values()].filter(({ synced }) => synced)
  for (const row of gone) em.remove([...row.tools.getItems(), row])
  await em.flush()
}

function writeServer(em: EntityManager, vault: Vault, config: ServerConfig, row: McpServer | undefined): void {
  const { label: serverLabel, description, requireApproval, url, transport } = config
  const wanted = {
    serverLabel,
    description,
    requireApproval,
    timeouts: toJson(config.timeouts) as Record<string, number>,
  }
  const written = row
    ? em.assign(row, { ...mergeUntouched(wanted, { ...row }, row.synced), transport })
    : em.create(McpServer, { ...wanted, url, transport })
  written.synced = keepIfEqual(row?.synced, toJson(wanted))
  const headers = Object.keys(config.headers).length > 0 ? JSON.stringify({ headers: config.headers }) : undefined
  written.apiKey = sealed(vault, config.apiKey, { before: row?.apiKey, purpose: SERVER_KEY })
  written.additionalConfig = sealed(vault, headers, { before: row?.additionalConfig, purpose: SERVER_CONFIG })
}

/** Sealing twice gives two texts: what is unchanged is left alone. */
function sealed(
  vault: Vault,
  plain: string | undefined,
  { before, purpose }: { before: string | null | undefined; purpose: string },
): string | null {
  if (plain === undefined) return null
  return before && opened(vault, before, purpose) === plain ? before : vault.seal(plain, purpose)
}

function opened(vault: Vault, text: string, purpose: string): string | undefined {
  try {
    return vault.open(text, purpose)
  } catch {
    // No key opens it any more: the file's takes its place.
    return undefined
  }
}
