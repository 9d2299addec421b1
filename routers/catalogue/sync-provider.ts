import { isDeepStrictEqual } from 'node:util'
import type { EntityManager } from '@mikro-orm/postgresql'
import { AiProvider } from '../../entities/catalogue/ai-provider.ts'
import { ProviderServer } from '../../entities/catalogue/provider-server.ts'
import type { Services } from '../core/services.ts'
import type { ProviderConfig } from '../ports/ai/model-config.ts'
import type { Log } from '../ports/log.ts'
import { API_KEY, FURTHER_API_KEY, type Vault } from '../ports/vault.ts'
import { getApiUrl } from './ai-providers.ts'
import { findOtherOrigins, hashSecret, openSecret } from './secrets.ts'
import { dropEqual, keepIfEqual, mergeUntouched, toJson } from './sync-merge.ts'

/** Writes a provider of the file to its row or to a new one. Values that an administrator changed stay. */
export function writeProvider(
  em: EntityManager,
  { vault, log }: Pick<Services, 'vault' | 'log'>,
  provider: ProviderConfig,
  row?: AiProvider,
): AiProvider {
  const fileValues = toFileValues(provider)
  const { id: providerId, apiKey } = provider
  const plainKey = openSecret(vault, row?.apiKey, API_KEY)
  const current = row && { ...row, apiKey: plainKey.lost ? row.synced?.['apiKey'] : hashSecret(plainKey.text) }
  const { apiKey: newKey, ...values } = current ? merge(fileValues, current as CurrentValues, log) : fileValues
  const providerRow = row
    ? em.assign(row, dropEqual(values, { ...row }))
    : em.create(AiProvider, { ...fileValues, apiKey: null, providerId })
  // Sealing is not deterministic, so an unchanged key is left alone.
  const isKnown = !plainKey.lost && apiKey === plainKey.text
  if (newKey !== undefined && !isKnown) providerRow.apiKey = apiKey ? vault.seal(apiKey, API_KEY) : null
  writeServers(em, providerRow, provider, { vault, log, hasFileKey: newKey !== undefined || isKnown })
  providerRow.synced = keepIfEqual(row?.synced, toJson(fileValues))
  return providerRow
}

/** Converts a provider of the file to column values; its key becomes a hash. */
const toFileValues = ({
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
  apiKey: hashSecret(apiKey),
})

type FileValues = ReturnType<typeof toFileValues>
type CurrentValues = Pick<AiProvider, 'providerId' | 'adapter' | 'apiUrl' | 'apiKey' | 'synced'>

function merge(fileValues: FileValues, current: CurrentValues, log: Log): Partial<FileValues> {
  const writable = mergeUntouched(fileValues, current, current.synced)
  if (!mixesKeyAndAddress(fileValues, current, writable)) return writable
  log.warn(
    { provider: current.providerId },
    'the address and the key in the file do not take effect: an administrator set one of them',
  )
  const { adapter: _adapter, apiUrl: _apiUrl, apiKey: _apiKey, ...safeValues } = writable
  return safeValues
}

/** True if the key of the file would be sent to an address of an administrator, or the other way round. */
function mixesKeyAndAddress(fileValues: FileValues, current: CurrentValues, writable: Partial<FileValues>): boolean {
  const keyOwner = writable.apiKey === undefined ? current : fileValues
  const [intended, resulting] = [keyOwner, { ...current, ...writable }].map((row) => ({ apiUrl: getApiUrl(row) }))
  return Boolean(keyOwner.apiKey) && findOtherOrigins({ ...intended }, { ...resulting }).length > 0
}

interface ServersInput extends Pick<Services, 'vault' | 'log'> {
  /** True if the provider uses the key of the file. */
  hasFileKey: boolean
}

/**
 * Writes the servers of the file, or removes them if an administrator set another address or key. Servers of
 * administrators stay.
 */
function writeServers(
  em: EntityManager,
  row: AiProvider,
  provider: ProviderConfig,
  { vault, log, hasFileKey }: ServersInput,
): void {
  const usesFile = hasFileKey && row.adapter === provider.adapter && getApiUrl(row) === getApiUrl(provider)
  if (!usesFile && provider.servers.length > 0)
    log.warn(
      { provider: provider.id },
      'the servers in the file do not take effect: an administrator set another adapter, address or key',
    )
  const fileServers = listFileServers(row)
  const wantedServers = (usesFile ? provider.servers : []).map(
    ({ apiUrl = getApiUrl(provider) as string, apiKey }, at) => ({
      apiUrl,
      apiKey: sealKey(vault, apiKey, fileServers[at]?.apiKey),
    }),
  )
  const serversBefore = fileServers.map(({ apiUrl, apiKey }) => ({ apiUrl, apiKey: apiKey ?? null }))
  if (isDeepStrictEqual(wantedServers, serversBefore)) return
  for (const [at, values] of wantedServers.entries()) {
    if (fileServers[at]) em.assign(fileServers[at], values)
    else em.create(ProviderServer, { ...values, provider: row, fromFile: true })
  }
  em.remove(fileServers.slice(wantedServers.length))
  markChanged(row)
}

/** Removes the servers of a provider that left the file. */
export function removeServers(em: EntityManager, row: AiProvider): void {
  const fileServers = listFileServers(row)
  if (fileServers.length === 0) return
  em.remove(fileServers)
  markChanged(row)
}

/** Updates the provider's version, because its record includes the servers. */
function markChanged(row: AiProvider): void {
  row.updatedAt = new Date()
}

const listFileServers = ({ servers }: AiProvider) => servers.getItems().filter(({ fromFile }) => fromFile)

/** Keeps the sealed key if it is unchanged, because sealing is not deterministic. */
function sealKey(vault: Vault, apiKey: string | undefined, sealedBefore: string | null | undefined): string | null {
  if (apiKey === undefined) return null
  return sealedBefore && openSecret(vault, sealedBefore, FURTHER_API_KEY).text === apiKey
    ? sealedBefore
    : vault.seal(apiKey, FURTHER_API_KEY)
}
