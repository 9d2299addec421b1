import { z } from 'zod'
import type { PriceRange, Pricing } from '../../entities/catalogue/ai-model.ts'
import type { DeepReadonly } from '../../entities/sql/read-only.ts'

const cost = z.number().min(0)

const range = z.strictObject({
  currency: z.string().regex(/^[A-Z]{3}$/, 'must be a currency code such as EUR'),
  inputCostPerToken: cost.nullable(),
  inputCostPerCachedToken: cost.nullable(),
  outputCostPerToken: cost.nullable(),
  outputCostPerReasoningToken: cost.nullable(),
  range: z.tuple([z.int().min(0), z.int().positive().nullable()]),
})

/** Prices by the length of the input in tokens, from the first number to before the second; or nothing to pay. */
export const pricing = z.union([
  z.strictObject({ free: z.literal(true) }),
  z.strictObject({
    ranges: z.array(range).min(1).max(20).nullable(),
    priorityRanges: z.null().describe('No request is sent with priority.'),
  }),
])

interface PerMillion {
  currency: string
  inputPerMillion: number
  outputPerMillion: number
  cachedInputPerMillion?: number | undefined
}

/** What the configuration says of a million tokens. */
export function pricingOf({ currency, inputPerMillion, outputPerMillion, cachedInputPerMillion }: PerMillion): Pricing {
  const each = (million: number | undefined) => (million === undefined ? null : million / 1_000_000)
  const only: PriceRange = {
    currency,
    inputCostPerToken: each(inputPerMillion),
    inputCostPerCachedToken: each(cachedInputPerMillion),
    outputCostPerToken: each(outputPerMillion),
    outputCostPerReasoningToken: null,
    range: [0, null],
  }
  return { ranges: [only], priorityRanges: null }
}

export interface CountedTokens {
  input: number
  output: number
  cached: number
  reasoning: number
}

export interface Cost {
  /** Millionths of the currency. */
  costMicros: number | null
  currency: string | null
}

/** What a call cost; null where no price is known. Cached tokens are part of the input, reasoning ones of the output. */
export function costOf(pricing: DeepReadonly<Pricing> | null, tokens: CountedTokens): Cost {
  if (!pricing) return { costMicros: null, currency: null }
  if ('free' in pricing) return { costMicros: 0, currency: null }
  const price = pricing.ranges?.find(
    ({ range: [from, to] }) => tokens.input >= from && (to === null || tokens.input < to),
  )
  if (!price) return { costMicros: null, currency: null }
  const { inputCostPerToken, inputCostPerCachedToken, outputCostPerToken, outputCostPerReasoningToken, currency } =
    price
  const [input, output] = [inputCostPerToken ?? 0, outputCostPerToken ?? 0]
  const spent =
    Math.max(0, tokens.input - tokens.cached) * input +
    tokens.cached * (inputCostPerCachedToken ?? input) +
    Math.max(0, tokens.output - tokens.reasoning) * output +
    tokens.reasoning * (outputCostPerReasoningToken ?? output)
  return { costMicros: Math.round(spent * 1_000_000), currency }
}

/** A token is some four bytes of a Latin script, and rarely more. */
export const tokensOf = (bytes: number) => Math.ceil(bytes / 4)

/** A count for where the provider gives none. */
export const estimateTokens = (text: string) => tokensOf(Buffer.byteLength(text))
