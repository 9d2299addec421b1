import type { Pricing } from '../entities/ai-model.ts'

export interface CountedTokens {
  input: number
  output: number
  cached: number
}

/** Millionths of the currency: a price of 1 per million tokens is one of them per token. Cached tokens are part of the input. */
export function costOf(pricing: Pricing, { input, output, cached }: CountedTokens): number {
  const { inputPerMillion, outputPerMillion, cachedInputPerMillion = inputPerMillion } = pricing
  const fresh = Math.max(0, input - cached)
  return Math.round(fresh * inputPerMillion + cached * cachedInputPerMillion + output * outputPerMillion)
}

/** A count for where the provider gives none: a token is some four characters of a Latin script, and rarely less than one. */
export const estimateTokens = (text: string) => Math.ceil(Buffer.byteLength(text) / 4)
