import { z } from 'zod'
import type { Api } from '../../routers/index.ts'
import { ignore } from '../ai/members.ts'

type EmbeddingAnswer = Awaited<ReturnType<Api['ai']['embed']>>
type Input = Parameters<Api['ai']['embed']>[0]['input']

/** A text, a list of token ids, or several of either. */
const input = z
  .union([z.string(), z.array(z.union([z.string(), z.number(), z.array(z.number())]))])
  .transform((value): Input => {
    if (typeof value === 'string') return [value]
    const isTokens = value.length > 0 && value.every((one) => typeof one === 'number')
    return (isTokens ? [value] : value) as Input
  })

/** A request for embeddings. */
export const embeddingRequest = z.strictObject({
  model: z.string(),
  input,
  dimensions: z.int().nullish(),
  encoding_format: z.enum(['float', 'base64']).nullish(),
  user: ignore('the provider does not learn who the caller is'),
})
type EmbeddingRequest = z.output<typeof embeddingRequest>

export const toEmbeddingInput = ({ model, input, dimensions }: EmbeddingRequest) => ({
  model,
  input,
  ...(dimensions != null && { dimensions }),
})

/** Converts embeddings to OpenAI's list, as numbers or base64. */
export function toEmbeddingList({ model, encoding_format }: EmbeddingRequest, { embeddings, usage }: EmbeddingAnswer) {
  const encoded = encoding_format === 'base64' ? embeddings.map(toBase64) : embeddings
  return {
    object: 'list',
    data: encoded.map((embedding, index) => ({ object: 'embedding', index, embedding })),
    model,
    usage: { prompt_tokens: usage.inputTokens, total_tokens: usage.inputTokens },
  }
}

/** Encodes numbers as little-endian floats of four bytes. */
function toBase64(numbers: readonly number[]): string {
  const bytes = Buffer.alloc(numbers.length * 4)
  for (const [at, number] of numbers.entries()) bytes.writeFloatLE(number, at * 4)
  return bytes.toString('base64')
}
