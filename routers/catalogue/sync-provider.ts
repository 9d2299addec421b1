import { isDeepStrictEqual } from 'node:util'
import type { EntityManager } from '@mikro-orm/postgresql'
import { AiProvider, type ProviderServer } from '../../entities/catalogue/ai-provider.ts'
import type { Services } from '../core/services.ts'
import type { ProviderConfig } from '../ports/ai/model-config.ts'
import type { Log } from '../ports/log.ts'
import { API_KEY, type Vault } from '../ports/vault.ts'
import { apiAddress } from './ai-providers.ts'
import { leadingElsewhere } from './secret-address.ts'
import { keepIfEqual, mergeUntouched, toJson } from './sync-merge.ts'
import { digest, openSecret } from './sync-secrets.ts'

/** Writes a provider of the file to its row, or to a new one; what an administrator changed stays. */
export function writeProvider(
  em: EntityManager,
  { vault, log }: Pick<Services, 'vault' | 'log'>,
  provider: ProviderConfig,
  row?: AiProvider,
): AiProvider {
  const wanted = wantedOf(provider)
  const { id: providerId, apiKey } = provider
  const plainKey = openSecret(vault, row?.apiKey, API_KEY)
  const current = row && { ...row, apiKey: plainKey.lost ? row.synced?.['apiKey'] : digest(plainKey.text) }
  const { apiKey: newKey, ...values } = current ? merge(wanted, current as Current, log) : wanted
  const written = row ? em.assign(row, values) : em.create(AiProvider, { ...wanted, apiKey: null, providerId })
  // Sealing twice gives two texts: an unchanged key is left alone.
  const isKnown = !plainKey.lost && apiKey === plainKey.text
  if (newKey !== undefined && !isKnown) written.apiKey = apiKey ? vault.seal(apiKey, API_KEY) : null
  writeServers(written, provider, { vault, log, hasFilesKey: newKey !== undefined || isKnown })
  written.synced = keepIfEqual(row?.synced, toJson(wanted))
  return written
}

interface ServersInput extends Pick<Services, 'vault' | 'log'> {
  hasFilesKey: boolean
}

/** The servers of the file stand beside its own address and key: where an administrator set others, those alone are used. */
function writeServers(row: AiProvider, provider: ProviderConfig, { vault, log, hasFilesKey }: ServersInput): void {
  const isFiles = hasFilesKey && row.adapter === provider.adapter && apiAddress(row) === apiAddress(provider)
  if (!isFiles && provider.servers.length > 0)
    log.warn(
      { provider: provider.id },
      'the servers in the file do not take effect: an administrator set another adapter, address or key',
    )
  const servers = isFiles ? serversOf(vault, provider, row.servers) : []
  if (!isDeepStrictEqual(servers, row.servers)) row.servers = servers
}

/** Each with its own address: no key goes to a server that it was not given for. Sealing a key that is known would change it. */
function serversOf(vault: Vault, provider: ProviderConfig, known: readonly ProviderServer[] = []) {
  return provider.servers.map((server, at): ProviderServer => {
    const before = openSecret(vault, known[at]?.apiKey, API_KEY)
    const isKnown = server.apiKey !== undefined && !before.lost && before.text === server.apiKey
    const kept = isKnown ? vault.renew(known[at]?.apiKey ?? '', API_KEY) : undefined
    const apiKey = kept ?? (server.apiKey ? vault.seal(server.apiKey, API_KEY) : null)
    return { apiUrl: server.apiUrl ?? apiAddress(provider) ?? null, apiKey }
  })
}

/** A key stands as its digest. */
const wantedOf = ({
  id,
  adapter,
  name = id,
  active,
  apiUrl,
  apiKey,
  modelStatusUrl,
  timeouts,
  circuit,
  continuousUsage,
}: ProviderConfig) => ({
  adapter,
  name,
  active,
  apiUrl: apiUrl ?? null,
  modelStatusUrl: modelStatusUrl ?? null,
  settings: { timeouts, ...(circuit && { circuit }), ...(continuousUsage !== undefined && { continuousUsage }) },
  apiKey: digest(apiKey),
})

type Wanted = ReturnType<typeof wantedOf>
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
