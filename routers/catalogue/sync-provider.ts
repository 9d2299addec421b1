import { isDeepStrictEqual } from 'node:util'
import type { EntityManager } from '@mikro-orm/postgresql'
import { AiProvider } from '../../entities/catalogue/ai-provider.ts'
import { ProviderServer } from '../../entities/catalogue/provider-server.ts'
import type { Services } from '../core/services.ts'
import type { ProviderConfig } from '../ports/ai/model-config.ts'
import type { Log } from '../ports/log.ts'
import { API_KEY, FURTHER_API_KEY, type Vault } from '../ports/vault.ts'
import { apiAddress } from './ai-providers.ts'
import { digest, leadingElsewhere, openSecret } from './secrets.ts'
import { keepIfEqual, mergeUntouched, toJson } from './sync-merge.ts'

/** Writes a provider of the file to its row, or to a new one; what an administrator changed stays. */
export function writeProvider(
  em: EntityManager,
  { vault, log }: Pick<Services, 'vault' | 'log'>,
  provider: ProviderConfig,
  row?: AiProvider,
): AiProvider {
  const wanted = toWanted(provider)
  const { id: providerId, apiKey } = provider
  const plainKey = openSecret(vault, row?.apiKey, API_KEY)
  const current = row && { ...row, apiKey: plainKey.lost ? row.synced?.['apiKey'] : digest(plainKey.text) }
  const { apiKey: newKey, ...values } = current ? merge(wanted, current as Current, log) : wanted
  const written = row ? em.assign(row, values) : em.create(AiProvider, { ...wanted, apiKey: null, providerId })
  // Sealing twice gives two texts: an unchanged key is left alone.
  const isKnown = !plainKey.lost && apiKey === plainKey.text
  if (newKey !== undefined && !isKnown) written.apiKey = apiKey ? vault.seal(apiKey, API_KEY) : null
  writeServers(em, written, provider, { vault, log, hasFilesKey: newKey !== undefined || isKnown })
  written.synced = keepIfEqual(row?.synced, toJson(wanted))
  return written
}

/** A key stands as its digest. */
const toWanted = ({
  id,
  adapter,
  name = id,
  active,
  groups,
  apiUrl,
  apiKey,
  modelStatusUrl,
  timeouts,
  circuit,
  continuousUsage,
  parameters,
}: ProviderConfig) => ({
  adapter,
  name,
  active,
  groups,
  apiUrl: apiUrl ?? null,
  modelStatusUrl: modelStatusUrl ?? null,
  settings: {
    timeouts,
    ...(circuit && { circuit }),
    ...(continuousUsage !== undefined && { continuousUsage }),
    ...(parameters && { parameters }),
  },
  apiKey: digest(apiKey),
})

type Wanted = ReturnType<typeof toWanted>
type Current = Pick<AiProvider, 'providerId' | 'adapter' | 'apiUrl' | 'apiKey' | 'synced'>

function merge(wanted: Wanted, current: Current, log: Log): Partial<Wanted> {
  const free = mergeUntouched(wanted, current, current.synced)
  if (!mixesKeyAndAddress(wanted, current, free)) return free
  log.warn(
    { provider: current.providerId },
    'the address and the key in the file do not take effect: an administrator set one of them',
  )
  const { adapter: _adapter, apiUrl: _apiUrl, apiKey: _apiKey, ...rest } = free
  return rest
}

/** Whether the key that one of file and administrator gave would go to the server that the other named. */
function mixesKeyAndAddress(wanted: Wanted, current: Current, free: Partial<Wanted>): boolean {
  const giver = free.apiKey === undefined ? current : wanted
  const [meant, led] = [giver, { ...current, ...free }].map((row) => ({ apiUrl: apiAddress(row) }))
  return Boolean(giver.apiKey) && leadingElsewhere({ ...meant }, { ...led }).length > 0
}

interface ServersInput extends Pick<Services, 'vault' | 'log'> {
  /** Whether the provider has the key of the file. */
  hasFilesKey: boolean
}

/**
 * Writes the servers of the file, which stand beside its own address and key: where an administrator set others, they go.
 * Those that administrators added stay.
 */
function writeServers(
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
