import { z } from 'zod'
import type { ListedModel } from '../../routers/ports/ai/models.ts'
import type { Price } from '../../routers/ports/ai/price-list.ts'
import { leaveBody } from '../net/response-body.ts'
import { adapterDrivers } from './adapters.ts'
import type { ProviderClient } from './provider-clients.ts'

const LISTING_TIMEOUT_MS = 10_000

/**
 * Returns the models that the provider lists now, at its own or the given address; undefined if it has no list. Throws
 * if the request fails.
 */
export async function listModels(
  { adapter, connection }: ProviderClient,
  statusUrl?: string | null,
): Promise<readonly ListedModel[] | undefined> {
  const defaultSource = adapterDrivers[adapter].listing(connection)
  const isSameServer =
    defaultSource && statusUrl && URL.parse(statusUrl)?.origin === URL.parse(defaultSource.url)?.origin
  // The API key is sent to no other server.
  const source = statusUrl ? { url: statusUrl, headers: isSameServer ? defaultSource.headers : {} } : defaultSource
  if (!source) return undefined
  const { url, headers } = source
  const response = await connection.fetch(url, { headers, signal: AbortSignal.timeout(LISTING_TIMEOUT_MS) })
  if (!response.ok) {
    leaveBody(response.body)
    throw new Error(`the list of models was answered with ${response.status}`)
  }
  return listing.parse(await response.json())
}

const count = z.int().positive().max(100_000_000).optional().catch(undefined)
const words = z.array(z.string()).max(50).optional().catch(undefined)
const text = z.string().min(1).max(200).optional().catch(undefined)
/** Price of one token, which some servers write as text. */
const cost = z.coerce.number().min(0).max(1).optional().catch(undefined)

/** An entry of a list, with the member names of different servers. Invalid members are ignored. */
const entry = z.object({
  id: text,
  name: text,
  display_name: text,
  displayName: text,
  /** Google lists the methods that a model supports. */
  supportedGenerationMethods: words,
  capabilities: z
    .object({ completion_chat: z.boolean().optional().catch(undefined) })
    .optional()
    .catch(undefined),
  architecture: z.object({ input_modalities: words }).optional().catch(undefined),
  input: words,
  status: z.string().optional().catch(undefined),
  demand: z.number().optional().catch(undefined),
  max_model_len: count,
  context_length: count,
  context_window: count,
  max_context_length: count,
  max_input_tokens: count,
  inputTokenLimit: count,
  max_completion_tokens: count,
  max_output_tokens: count,
  max_tokens: count,
  outputTokenLimit: count,
  top_provider: z.object({ max_completion_tokens: count }).optional().catch(undefined),
  pricing: z
    .object({
      prompt: cost,
      completion: cost,
      input_cache_read: cost,
      input_cache_write: cost,
      internal_reasoning: cost,
    })
    .optional()
    .catch(undefined),
})
type Entry = z.output<typeof entry>

/** Limit far above the number of models of any provider. */
const MAX_LISTED = 10_000

/** The formats in which providers list their models. */
const listing = z
  .union([
    z.object({ data: z.array(entry).max(MAX_LISTED) }).transform(({ data }) => data),
    z.object({ models: z.array(entry).max(MAX_LISTED) }).transform(({ models }) => models),
  ])
  .transform((entries) => entries.flatMap((listed) => toListedModel(listed) ?? []))

function toListedModel(listed: Entry): ListedModel | undefined {
  const name = listed.id ?? listed.name?.replace(/^models\//, '')
  if (!name) return undefined
  const label = listed.display_name ?? listed.displayName ?? (listed.id ? listed.name : undefined)
  const maxInputTokens =
    listed.max_input_tokens ??
    listed.inputTokenLimit ??
    listed.context_length ??
    listed.context_window ??
    listed.max_context_length ??
    listed.max_model_len
  const maxOutputTokens =
    listed.max_output_tokens ??
    listed.outputTokenLimit ??
    listed.max_completion_tokens ??
    listed.top_provider?.max_completion_tokens ??
    listed.max_tokens
  return {
    name,
    label,
    isChat: isChat(listed),
    status: readStatus(listed),
    demand: rateDemand(listed),
    maxInputTokens,
    maxOutputTokens,
    price: readPrice(listed),
    takesImages: (listed.architecture?.input_modalities ?? listed.input)?.includes('image') ?? false,
  }
}

const isChat = ({ supportedGenerationMethods: methods, capabilities }: Entry) =>
  (methods?.includes('generateContent') ?? true) && (capabilities?.completion_chat ?? true)

const statuses: Record<string, ListedModel['status']> = { ready: 'online', online: 'online', offline: 'offline' }

/** A listed model is online, unless its server reports another status. */
const readStatus = ({ status }: Entry) => (status === undefined ? 'online' : (statuses[status] ?? 'unknown'))

/** Servers that report demand count the waiting requests. */
const rateDemand = ({ demand = 0 }: Entry) => (demand >= 4 ? 'high' : demand >= 2 ? 'medium' : 'low')

const toPricePerMillion = (cost: number | undefined) =>
  cost === undefined ? undefined : Number((cost * 1e6).toPrecision(12))

function readPrice({ pricing }: Entry): Price | undefined {
  const [input, output] = [toPricePerMillion(pricing?.prompt), toPricePerMillion(pricing?.completion)]
  if (!pricing || input === undefined || output === undefined) return undefined
  const optional = {
    cachedInputPerMillion: toPricePerMillion(pricing.input_cache_read),
    cacheWritePerMillion: toPricePerMillion(pricing.input_cache_write),
    reasoningPerMillion: toPricePerMillion(pricing.internal_reasoning || undefined),
  }
  // Servers that list prices in this format use dollars.
  return { currency: 'USD', inputPerMillion: input, outputPerMillion: output, ...optional }
}
