import { z } from 'zod'
import { adapterDrivers } from './adapters.ts'
import type { ProviderClient } from './provider-client.ts'

const LISTING_TIMEOUT_MS = 10_000

/** The lists of models that the providers' APIs give, as names. */
const listing = z.union([
  z.object({ data: z.array(z.object({ id: z.string() })) }).transform(({ data }) => data.map(({ id }) => id)),
  z
    .object({ models: z.array(z.object({ name: z.string() })) })
    .transform(({ models }) => models.map(({ name }) => name.replace(/^models\//, ''))),
])

/** The names of the models that the provider has now; undefined where it has no list. Throws where it does not say. */
export async function listModels(client: ProviderClient): Promise<ReadonlySet<string> | undefined> {
  const source = adapterDrivers[client.adapter].listing(client.connection)
  if (!source) return undefined
  const { url, headers } = source
  const response = await client.connection.fetch(url, { headers, signal: AbortSignal.timeout(LISTING_TIMEOUT_MS) })
  if (!response.ok) {
    await response.body?.cancel()
    throw new Error(`the list of models was answered with ${response.status}`)
  }
  return new Set(listing.parse(await response.json()))
}
