import type { EntityManager } from '@mikro-orm/postgresql'
import { AiProvider } from '../../entities/catalogue/ai-provider.ts'
import { McpServer } from '../../entities/catalogue/mcp-server.ts'
import { API_KEY, SERVER_CONFIG, SERVER_KEY, type Vault } from '../ports/vault.ts'

/** Seals with the current key what an earlier one sealed, so that the earlier one can be dropped. */
export async function renewSecrets(em: EntityManager, vault: Vault): Promise<void> {
  for (const row of await em.find(AiProvider, { apiKey: { $ne: null } })) {
    if (row.apiKey) row.apiKey = vault.renew(row.apiKey, API_KEY)
  }
  for (const row of await em.find(McpServer, {})) {
    if (row.apiKey) row.apiKey = vault.renew(row.apiKey, SERVER_KEY)
    if (row.additionalConfig) row.additionalConfig = vault.renew(row.additionalConfig, SERVER_CONFIG)
  }
}
