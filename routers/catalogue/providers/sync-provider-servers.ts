import { isDeepStrictEqual } from 'node:util'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { AiProvider } from '../../../entities/catalogue/ai-provider.ts'
import { ProviderServer } from '../../../entities/catalogue/provider-server.ts'
import type { Services } from '../../core/services.ts'
import type { ProviderConfig } from '../../ports/ai/model-config.ts'
import { FURTHER_API_KEY, type Vault } from '../../ports/vault.ts'
import { openSecret } from '../sync-secrets.ts'
import { apiAddress } from './ai-providers.ts'

interface ServersInput extends Pick<Services, 'vault' | 'log'> {
  /** Whether the provider has the key of the file. */
  hasFilesKey: boolean
}

/**
 * Writes the servers of the file, which stand beside its own address and key: where an administrator set others, they go.
 * Those that administrators added stay.
 */
export function writeServers(
  em: EntityManager,
  row: AiProvider,
  provider: ProviderConfig,
  { vault, log, hasFilesKey }: ServersInput,
): void {
  const isFiles = hasFilesKey && row.adapter === provider.adapter && apiAddress(row) === apiAddress(provider)
  if (!isFiles && provider.servers.length > 0)
    log.warn(
      { provider: provider.id },
      'the servers in the file do not take effect: an administrator set another adapter, address or key',
    )
  const known = serversOfFile(row)
  const wanted = (isFiles ? provider.servers : []).map(({ apiUrl = apiAddress(provider) as string, apiKey }, at) => ({
    apiUrl,
    apiKey: sealedKey(vault, apiKey, known[at]?.apiKey),
  }))
  const before = known.map(({ apiUrl, apiKey }) => ({ apiUrl, apiKey: apiKey ?? null }))
  if (isDeepStrictEqual(wanted, before)) return
  for (const [at, values] of wanted.entries()) {
    if (known[at]) em.assign(known[at], values)
    else em.create(ProviderServer, { ...values, provider: row, fromFile: true })
  }
  em.remove(known.slice(wanted.length))
  markChanged(row)
}

/** Removes the servers of a provider that left the file. */
export function removeServers(em: EntityManager, row: AiProvider): void {
  const known = serversOfFile(row)
  if (known.length === 0) return
  em.remove(known)
  markChanged(row)
}

/** The provider shows its servers: who read it before must not take it for unchanged. */
function markChanged(row: AiProvider): void {
  row.updatedAt = new Date()
}

const serversOfFile = ({ servers }: AiProvider) => servers.getItems().filter(({ fromFile }) => fromFile)

/** Sealing twice gives two texts: an unchanged key is left alone. */
function sealedKey(vault: Vault, apiKey: string | undefined, known: string | null | undefined): string | null {
  if (apiKey === undefined) return null
  return known && openSecret(vault, known, FURTHER_API_KEY).text === apiKey
    ? known
    : vault.seal(apiKey, FURTHER_API_KEY)
}
