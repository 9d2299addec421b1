import { z } from 'zod'
import type { PriceRange, Pricing } from '../../entities/catalogue/ai-model.ts'
import type { DeepReadonly } from '../../entities/sql/read-only.ts'
import { currencyCode, type Price } from '../ports/ai/price-list.ts'

/** Price of one token, bounded by the maximum of a price list for a million. */
const cost = z.number().min(0).max(1)

/** Price of one use, bounded by the maximum of a price list for a thousand. */
const useCost = z.number().min(0).max(100).nullish()

const range = z.strictObject({
  currency: currencyCode,
  inputCostPerToken: cost.nullable(),
  inputCostPerCachedToken: cost.nullable(),
  inputCostPerCacheWriteToken: cost.nullish(),
  outputCostPerToken: cost.nullable(),
  outputCostPerReasoningToken: cost.nullable(),
  costPerWebSearch: useCost.describe(
    'The price of one search. Without it and the next one, the cost of a call that searches is unknown.',
  ),
  costPerGroundedPrompt: useCost.describe(
    'The price of a request that was answered with searches, however many there were.',
  ),
  costPerWebFetch: useCost.describe('The price of fetching a page, in addition to its tokens.'),
  range: z.tuple([z.int().min(0), z.int().positive().nullable()]),
})

type Range = z.output<typeof range>

/**
 * Prices by input length, in one currency, from zero and without gaps. Longer input than the last range has no known
 * price.
 */
const priceRanges = z
  .array(range)
  .min(1)
  .max(20)
  .superRefine((ranges, ctx) => {
    for (const [index, range] of ranges.entries())
      for (const { path, message } of findRangeIssues(range, ranges[index - 1]))
        ctx.addIssue({ code: 'custom', path: [index, ...path], message })
  })
  .describe(
    'The prices by length of the input, all in one currency. The first begins at 0, each other where the previous one ends.',
  )

function findRangeIssues({ currency, range: [from, to] }: Range, before: Range | undefined) {
  const end = before ? before.range[1] : 0
  return [
    ...(before && before.currency !== currency
      ? [{ path: ['currency'], message: 'must be that of the range before' }]
      : []),
    ...(from === end ? [] : [{ path: ['range', 0], message: describeNextStart(end) }]),
    ...(to === null || to > from ? [] : [{ path: ['range', 1], message: 'must be more than the first number' }]),
  ]
}

const describeNextStart = (end: number | null): string =>
  end === null ? 'cannot follow a range without an end' : `must be ${end}, so that ranges follow one another`

/** Prices by input length in tokens, each from the first number to before the second; or free. */
export const pricing = z.union([
  z.strictObject({ free: z.literal(true) }),
  z.strictObject({
    ranges: priceRanges.nullable(),
    priorityRanges: z.null().describe('The price at priority. The service sends no request with priority.'),
  }),
])

/** Converts prices per million tokens and per thousand tool uses, as the configuration and price lists have them. */
export function toPricing({ currency, tiers = [], ...rates }: Price): Pricing {
  const uses = listCostsPerUse(rates)
  const all = [{ fromInputTokens: 0, ...rates }, ...tiers]
  const ranges = all.map(
    (tier, index): PriceRange => ({
      currency,
      inputCostPerToken: toRatePerToken(tier.inputPerMillion),
      inputCostPerCachedToken: toRatePerToken(tier.cachedInputPerMillion),
      inputCostPerCacheWriteToken: toRatePerToken(tier.cacheWritePerMillion),
      outputCostPerToken: toRatePerToken(tier.outputPerMillion),
      outputCostPerReasoningToken: toRatePerToken(tier.reasoningPerMillion),
      ...uses,
      range: [tier.fromInputTokens, all[index + 1]?.fromInputTokens ?? null],
    }),
  )
  return { ranges, priorityRanges: null }
}

/** Returns only the prices that are set, because a changed price is stored as a new version. */
const listCostsPerUse = ({
  webSearchPerThousand,
  groundedPromptPerThousand,
  webFetchPerThousand,
}: Omit<Price, 'currency'>) => ({
  ...(webSearchPerThousand !== undefined && { costPerWebSearch: toRatePerUse(webSearchPerThousand) }),
  ...(groundedPromptPerThousand !== undefined && { costPerGroundedPrompt: toRatePerUse(groundedPromptPerThousand) }),
  ...(webFetchPerThousand !== undefined && { costPerWebFetch: toRatePerUse(webFetchPerThousand) }),
})

const toRatePerUse = (perThousand: number) => divideRate(perThousand, 1000)

const toRatePerToken = (perMillion: number | undefined) =>
  perMillion === undefined ? null : divideRate(perMillion, 1_000_000)

/** Rounds to 15 digits, because dividing 0.1 by a million is not exact. */
const divideRate = (price: number, count: number) => Number((price / count).toPrecision(15))

/** Number of uses of the provider's own tools. */
export interface NativeUses {
  webSearches: number
  webFetches: number
}

export const noUses: NativeUses = { webSearches: 0, webFetches: 0 }

/** Cached and cache-written tokens are part of the input, reasoning tokens of the output. */
export interface CountedTokens extends Partial<NativeUses> {
  input: number
  output: number
  cached: number
  cacheWrite?: number
  reasoning: number
}

export interface Cost {
  /** Millionths of the currency. */
  costMicros: number | null
  currency: string | null
}

const unknownCost: Cost = { costMicros: null, currency: null }

/** Computes the cost of a call; null if a price is unknown. No token is priced twice. */
export function computeCost(pricing: DeepReadonly<Pricing> | null, tokens: CountedTokens): Cost {
  if (pricing && 'free' in pricing) return { costMicros: 0, currency: null }
  const price = findPriceRange(pricing, tokens.input)
  const uses = price && computeUseCost(price, tokens)
  if (uses === undefined || !price || lacksPrice(price, tokens)) return unknownCost
  const { input, output, cached, cacheWrite = 0, reasoning } = tokens
  const rates = pickRates(price)
  const spent =
    toPicos(input - cached - cacheWrite, rates.input) +
    toPicos(cached, rates.cached) +
    toPicos(cacheWrite, rates.cacheWrite) +
    toPicos(output - reasoning, rates.output) +
    toPicos(reasoning, rates.reasoning) +
    uses
  return { costMicros: Number((spent + PICOS_PER_MICRO / 2n) / PICOS_PER_MICRO), currency: price.currency }
}

/** Returns the price range for the input length; undefined if it is unknown or the model is free. */
function findPriceRange(pricing: DeepReadonly<Pricing> | null, input: number): DeepReadonly<PriceRange> | undefined {
  if (!pricing || 'free' in pricing) return undefined
  return pricing.ranges?.find(({ range: [from, to] }) => input >= from && (to === null || input < to))
}

/** If only one of the two prices is known, the other direction has none. */
const lacksPrice = (
  { inputCostPerToken, outputCostPerToken }: DeepReadonly<PriceRange>,
  { input, output }: CountedTokens,
): boolean => (inputCostPerToken === null && input > 0) || (outputCostPerToken === null && output > 0)

/** Returns the rate of each kind of token in units of the currency. */
function pickRates(price: DeepReadonly<PriceRange>) {
  const input = price.inputCostPerToken ?? 0
  const output = price.outputCostPerToken ?? 0
  return {
    input,
    cached: price.inputCostPerCachedToken ?? input,
    cacheWrite: price.inputCostPerCacheWriteToken ?? input,
    output,
    reasoning: price.outputCostPerReasoningToken ?? output,
  }
}

export const isSearchPriced = ({ costPerWebSearch, costPerGroundedPrompt }: DeepReadonly<PriceRange>): boolean =>
  (costPerWebSearch ?? costPerGroundedPrompt ?? null) !== null

/** Returns the cost of tool uses in picos; undefined if a search has no known price. */
function computeUseCost(
  price: DeepReadonly<PriceRange>,
  { webSearches = 0, webFetches = 0 }: CountedTokens,
): bigint | undefined {
  const { costPerWebSearch: search = null, costPerGroundedPrompt: prompt = null, costPerWebFetch: fetch = null } = price
  if (webSearches > 0 && !isSearchPriced(price)) return undefined
  return (
    toPicos(search ? webSearches : 0, search) + toPicos(webSearches > 0 ? 1 : 0, prompt) + toPicos(webFetches, fetch)
  )
}

/** Counts of a running request. The cached tokens are unknown until the provider has reported its input. */
export type KnownTokens = Omit<CountedTokens, 'cached'> & { cached?: number | undefined }

/**
 * Computes the maximum cost of a request with so many more output tokens, whichever of its tokens are cached, written
 * to the cache or reasoning. Returns only the currency if part of it is unbounded.
 */
export function computeMaxCost(
  pricing: DeepReadonly<Pricing> | null,
  known: KnownTokens,
  remainingOutput: number,
): Cost {
  const { input, cached, output, reasoning } = known
  const price = findPriceRange(pricing, input)
  if (price && isUnbounded(price, known)) return { ...unknownCost, currency: chooseCurrency(price, known) }
  const rates = price && pickRates(price)
  const inputTokens = cached === undefined ? chooseExpensiveInput(input, rates) : { cached }
  const remainingReasoning = rates && rates.reasoning > rates.output ? remainingOutput : 0
  return computeCost(pricing, {
    ...known,
    ...inputTokens,
    output: output + remainingOutput,
    reasoning: reasoning + remainingReasoning,
  })
}

const isUnbounded = ({ costPerWebSearch }: DeepReadonly<PriceRange>, { input, webSearches }: KnownTokens): boolean =>
  input === Infinity || (webSearches === Infinity && Boolean(costPerWebSearch))

/** Returns null if a price is missing. */
const chooseCurrency = (price: DeepReadonly<PriceRange>, { webSearches = 0 }: KnownTokens): string | null =>
  lacksPrice(price, { input: 1, output: 1, cached: 0, reasoning: 0 }) || (webSearches > 0 && !isSearchPriced(price))
    ? null
    : price.currency

/** Counts all input as the most expensive kind of token. */
function chooseExpensiveInput(input: number, rates: ReturnType<typeof pickRates> | undefined) {
  if (!rates || rates.input >= Math.max(rates.cached, rates.cacheWrite)) return { cached: 0, cacheWrite: 0 }
  return rates.cached >= rates.cacheWrite ? { cached: input, cacheWrite: 0 } : { cached: 0, cacheWrite: input }
}

export function addCosts(one: Cost, other: Cost): Cost {
  if (one.costMicros === null || other.costMicros === null) return unknownCost
  return { costMicros: one.costMicros + other.costMicros, currency: one.currency ?? other.currency }
}

/** The price of a model, and the most that a request may use the provider's own tools. */
interface PricedUse {
  pricing: DeepReadonly<Pricing> | null
  uses: NativeUses
}

/** True if both are priced in one currency, or one of them is free and the other's price is fully known. */
export function hasCompatibleCurrency(one: PricedUse, other: PricedUse): boolean {
  const [currency, otherCurrency] = [findCurrency(one), findCurrency(other)]
  return (
    currency === otherCurrency ||
    (currency === 'any' && otherCurrency !== undefined) ||
    (otherCurrency === 'any' && currency !== undefined)
  )
}

/** Returns `any` for a free model, and undefined if a price is not fully known. */
function findCurrency({ pricing, uses }: PricedUse): string | undefined {
  if (pricing && 'free' in pricing) return 'any'
  const [input = 0] = pricing?.ranges?.[0]?.range ?? []
  const smallestUse = { input: Math.max(1, input), output: 1, cached: 0, reasoning: 0 }
  // The number of searches does not decide about a known price.
  const webSearches = Math.min(1, uses.webSearches)
  return computeCost(pricing, { ...smallestUse, webSearches }).currency ?? undefined
}

/** Sums are computed in whole picos (10⁻¹² of the currency), because sums of floating-point numbers are not exact. */
const PICOS_PER_UNIT = 1e12
const PICOS_PER_MICRO = 1_000_000n

const toPicos = (tokens: number, cost: number | null): bigint =>
  BigInt(Math.max(0, tokens)) * BigInt(Math.round((cost ?? 0) * PICOS_PER_UNIT))
