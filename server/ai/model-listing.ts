import type { ListedModel } from '../../routers/ports/ai/listed-model.ts'
import { adapterDrivers } from './adapters.ts'
import { listing } from './listing/listed-model.ts'
import type { ProviderClient } from './provider-client.ts'

const LISTING_TIMEOUT_MS = 10_000

/**
 * The models that the provider has now, by its own list or the one at another address; undefined where it has no list.
 * Throws where it does not say.
 */
export async function listModels(
  { adapter, connection }: ProviderClient,
  statusUrl?: string | null,
): Promise<readonly ListedModel[] | undefined> {
  const usual = adapterDrivers[adapter].listing(connection)
  const isKnown = usual && statusUrl && URL.parse(statusUrl)?.origin === URL.parse(usual.url)?.origin
  // The key goes to no other server.
  const source = statusUrl ? { url: statusUrl, headers: isKnown ? usual.headers : {} } : usual
  if (!source) return undefined
  const { url, headers } = source
  const response = await connection.fetch(url, { headers, signal: AbortSignal.timeout(LISTING_TIMEOUT_MS) })
  if (!response.ok) {
    await response.body?.cancel()
    throw new Error(`the list of models was answered with ${response.status}`)
  }
  return listing.parse(await response.json())
}
