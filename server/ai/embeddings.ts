import type { EmbeddingModelV4 } from '@ai-sdk/provider'
import { z } from 'zod'
import { type Adapter, usualAddresses } from '../../routers/ports/ai/model-config.ts'
import type { EmbeddingCall, EmbeddingInput } from '../../routers/ports/ai/models.ts'
import { type Connection, upstreamName } from './chat-model.ts'
import { addMembers } from './extra-members.ts'
import { extraMembers } from './parameters.ts'
import { refusing } from './refusal.ts'

interface Embedded {
  embeddings: number[][]
  /** As the provider counts them; undefined where it does not. */
  tokens: number | undefined
}

/** Asks a provider once for all embeddings. */
export function askEmbeddings(connection: Connection, call: EmbeddingCall): Promise<Embedded> {
  return call.model.adapter === 'google' ? askGoogle(connection, call) : askOpenAi(connection, call)
}

const numbers = z.union([z.array(z.number()), z.base64().transform(floatsIn)])

/** What OpenAI, Mistral and most other servers answer; the order is what `index` says. */
const answer = z.object({
  data: z.array(z.object({ embedding: numbers, index: z.int().optional() })),
  usage: z.object({ prompt_tokens: z.int().min(0).optional() }).nullish(),
})

async function askOpenAi(
  { apiUrl, apiKey, fetch }: Connection,
  { model, input, dimensions, signal }: EmbeddingCall,
): Promise<Embedded> {
  const adapter = model.adapter as Adapter
  const url = `${apiUrl ?? usualAddresses[adapter]}/embeddings`
  const headers = { 'content-type': 'application/json', ...(apiKey && { authorization: `Bearer ${apiKey}` }) }
  // A third as long, but not every server knows it.
  const encoding = adapter === 'openai' && { encoding_format: 'base64' }
  const length = dimensions !== undefined && { [adapter === 'mistral' ? 'output_dimension' : 'dimensions']: dimensions }
  const body = addMembers({ model: upstreamName(model), input, ...encoding, ...length }, extraMembers(model))
  const response = await refusing(fetch)(url, { method: 'POST', headers, body: JSON.stringify(body), signal })
  const { data, usage } = answer.parse(await response.json())
  const sorted = data.toSorted((a, b) => (a.index ?? 0) - (b.index ?? 0)).map(({ embedding }) => embedding)
  return { embeddings: assertAll(sorted, input, dimensions), tokens: usage?.prompt_tokens }
}

async function askGoogle({ apiUrl, apiKey, fetch }: Connection, call: EmbeddingCall): Promise<Embedded> {
  const { createGoogle } = await import('@ai-sdk/google')
  const google = createGoogle({ fetch: refusing(fetch), ...(apiUrl && { baseURL: apiUrl }), ...(apiKey && { apiKey }) })
  const model: EmbeddingModelV4 = google.embeddingModel(upstreamName(call.model))
  const texts = call.input.map(String)
  const size = (await model.maxEmbeddingsPerCall) ?? texts.length
  const embeddings: number[][] = []
  for (let from = 0; from < texts.length; from += size) {
    const values = texts.slice(from, from + size)
    const length = call.dimensions !== undefined && {
      providerOptions: { google: { outputDimensionality: call.dimensions } },
    }
    embeddings.push(...(await model.doEmbed({ values, abortSignal: call.signal, ...length })).embeddings)
  }
  return { embeddings: assertAll(embeddings, call.input, call.dimensions), tokens: undefined }
}

/** Fails where a provider leaves something out, or passes over how long embeddings are to be. */
function assertAll(
  embeddings: number[][],
  input: readonly EmbeddingInput[],
  dimensions: number | undefined,
): number[][] {
  const isWhole = embeddings.length === input.length
  const isRight = dimensions === undefined || embeddings.every(({ length }) => length === dimensions)
  if (!isWhole || !isRight) throw new Error('the provider answered with other embeddings than it was asked for')
  return embeddings
}

/** Numbers of four bytes each, the lowest byte first. */
function floatsIn(base64: string): number[] {
  const bytes = Buffer.from(base64, 'base64')
  return Array.from({ length: Math.floor(bytes.length / 4) }, (_, at) => bytes.readFloatLE(at * 4))
}
