import type { EmbeddingModelV4 } from '@ai-sdk/provider'
import { z } from 'zod'
import { type Adapter, defaultAddresses } from '../../routers/ports/ai/adapters.ts'
import { estimateEmbeddingTokens } from '../../routers/ports/ai/embeddings.ts'
import type { EmbeddingCall } from '../../routers/ports/ai/models.ts'
import { tryParseJson } from '../../routers/ports/json.ts'
import { type Connection, getUpstreamName } from './chat-model.ts'
import { pickExtraMembers } from './parameters.ts'
import { toUnparsableError } from './provider-errors.ts'
import { readResponse } from './provider-response.ts'
import { createSdkFetch, mergeMembers, readEitherForm } from './sdk-fetch.ts'

interface EmbeddingResult {
  embeddings: number[][]
  /** Tokens by the provider's count; undefined if it reports none. */
  tokens: number | undefined
}

/** Number of texts that Google accepts in one request. */
const GOOGLE_TEXTS = 100

/** Splits a call into requests that the provider accepts; their token estimates add up to that of the call. */
export function splitIntoRequests(call: EmbeddingCall): EmbeddingCall[] {
  const size = call.model.adapter === 'google' ? GOOGLE_TEXTS : call.input.length
  const starts = Array.from({ length: Math.ceil(call.input.length / size) }, (_, at) => at * size)
  let [estimated, counted] = [0, 0]
  return starts.map((start) => {
    const input = call.input.slice(start, start + size)
    estimated += estimateEmbeddingTokens(input)
    const inputTokens = Math.ceil(estimated) - counted
    counted += inputTokens
    return { ...call, input, inputTokens }
  })
}

export async function requestEmbeddings(connection: Connection, call: EmbeddingCall): Promise<EmbeddingResult> {
  return call.model.adapter === 'google'
    ? readEitherForm({ send: () => requestFromGoogle(connection, call) })
    : requestFromOpenAi(connection, call)
}

const numbers = z.union([z.array(z.number()), z.base64().transform(decodeFloats)])

/** Response of OpenAI, Mistral and most other servers, in which `index` gives the order. */
const openAiResponse = z.object({
  data: z.array(z.object({ embedding: numbers, index: z.int().optional() })),
  usage: z.object({ prompt_tokens: z.int().min(0).optional() }).nullish(),
})

async function requestFromOpenAi(
  connection: Connection,
  { model, input, dimensions, signal }: EmbeddingCall,
): Promise<EmbeddingResult> {
  const { apiUrl, apiKey } = connection
  const adapter = model.adapter as Adapter
  const url = `${apiUrl ?? defaultAddresses[adapter]}/embeddings`
  const headers = { 'content-type': 'application/json', ...(apiKey && { authorization: `Bearer ${apiKey}` }) }
  // Base64 is a third as long, but not every server supports it.
  const encoding = adapter === 'openai' && { encoding_format: 'base64' }
  const length = dimensions !== undefined && { [adapter === 'mistral' ? 'output_dimension' : 'dimensions']: dimensions }
  const body = mergeMembers({ model: getUpstreamName(model), input, ...encoding, ...length }, pickExtraMembers(model))
  const request = { method: 'POST' as const, headers, body: JSON.stringify(body), signal }
  const { body: text } = await readResponse(connection, url, request)
  const read = openAiResponse.safeParse(tryParseJson(text))
  if (!read.success) throw toUnparsableError(read.error, text)
  const { data, usage } = read.data
  const sorted = data.toSorted((a, b) => (a.index ?? 0) - (b.index ?? 0)).map(({ embedding }) => embedding)
  return { embeddings: sorted, tokens: usage?.prompt_tokens }
}

async function requestFromGoogle(
  { apiUrl, apiKey, ...connection }: Connection,
  call: EmbeddingCall,
): Promise<EmbeddingResult> {
  const { createGoogle } = await import('@ai-sdk/google')
  const fetch = createSdkFetch(connection)
  const google = createGoogle({ fetch, ...(apiUrl && { baseURL: apiUrl }), ...(apiKey && { apiKey }) })
  const model: EmbeddingModelV4 = google.embeddingModel(getUpstreamName(call.model))
  const length = call.dimensions !== undefined && {
    providerOptions: { google: { outputDimensionality: call.dimensions } },
  }
  const values = call.input.map(String)
  const { embeddings } = await model.doEmbed({ values, abortSignal: call.signal, ...length })
  return { embeddings, tokens: undefined }
}

/** Throws if embeddings are missing, or have another length than requested. */
export function assertComplete(embeddings: number[][], { input, dimensions }: EmbeddingCall): void {
  const isWhole = embeddings.length === input.length
  const isRight = dimensions === undefined || embeddings.every(({ length }) => length === dimensions)
  if (!isWhole || !isRight) throw new Error('the provider answered with other embeddings than it was asked for')
}

/** Decodes little-endian floats of four bytes each. */
function decodeFloats(base64: string): number[] {
  const bytes = Buffer.from(base64, 'base64')
  return Array.from({ length: Math.floor(bytes.length / 4) }, (_, at) => bytes.readFloatLE(at * 4))
}
