import { z } from 'zod'
import type { PriceRange, Pricing } from '../../entities/catalogue/ai-model.ts'
import type { DeepReadonly } from '../../entities/sql/read-only.ts'
import { currencyCode, type Price } from '../ports/ai/price-list.ts'

/** As much as a price list may say of a million tokens. */
const cost = z.number().min(0).max(1)

/** As much as a price list may say of a thousand uses. */
const useCost = z.number().min(0).max(100).nullish()

const range = z.strictObject({
  currency: currencyCode,
  inputCostPerToken: cost.nullable(),
  inputCostPerCachedToken: cost.nullable(),
  inputCostPerCacheWriteToken: cost.nullish(),
  outputCostPerToken: cost.nullable(),
  outputCostPerReasoningToken: cost.nullable(),
  costPerWebSearch: useCost.describe('Without it and the next, the cost of a call that searches is not known.'),
  costPerGroundedPrompt: useCost.describe('For a request that was answered by searches, however many these were.'),
  costPerWebFetch: useCost.describe('Beside the tokens of the page.'),
  range: z.tuple([z.int().min(0), z.int().positive().nullable()]),
})

type Range = z.output<typeof range>

/**
 * One price by the length of the input: in one currency, from no token on, without gaps. Of an input longer than the last range no
 * price is known.
 */
const priceRanges = z
  .array(range)
  .min(1)
  .max(20)
  .superRefine((ranges, ctx) => {
    for (const [index, range] of ranges.entries())
      for (const { path, message } of wrongWith(range, ranges[index - 1]))
        ctx.addIssue({ code: 'custom', path: [index, ...path], message })
  })
  .describe('All in one currency; the first begins at 0, each other where the one before ends.')

function wrongWith({ currency, range: [from, to] }: Range, before: Range | undefined) {
  const end = before ? before.range[1] : 0
  return [
    ...(before && before.currency !== currency
      ? [{ path: ['currency'], message: 'must be that of the range before' }]
      : []),
    ...(from === end ? [] : [{ path: ['range', 0], message: follows(end) }]),
    ...(to === null || to > from ? [] : [{ path: ['range', 1], message: 'must be more than the first number' }]),
  ]
}

const follows = (end: number | null): string =>
  end === null ? 'cannot follow a range without an end' : `must be ${end}, so that ranges follow one another`

/** Prices by the length of the input in tokens, from the first number to before the second; or nothing to pay. */
export const pricing = z.union([
  z.strictObject({ free: z.literal(true) }),
  z.strictObject({
    ranges: priceRanges.nullable(),
    priorityRanges: z.null().describe('No request is sent with priority.'),
  }),
])

/** What the configuration or a price list says of a million tokens and a thousand uses of tools. */
export function toPricing({ currency, tiers = [], ...rates }: Price): Pricing {
  const uses = costsPerUse(rates)
  const all = [{ fromInputTokens: 0, ...rates }, ...tiers]
  const ranges = all.map(
    (tier, index): PriceRange => ({
      currency,
      inputCostPerToken: perToken(tier.inputPerMillion),
      inputCostPerCachedToken: perToken(tier.cachedInputPerMillion),
      inputCostPerCacheWriteToken: perToken(tier.cacheWritePerMillion),
      outputCostPerToken: perToken(tier.outputPerMillion),
      outputCostPerReasoningToken: perToken(tier.reasoningPerMillion),
      ...uses,
      range: [tier.fromInputTokens, all[index + 1]?.fromInputTokens ?? null],
    }),
  )
  return { ranges, priorityRanges: null }
}

/** Only those that are set: a price that is stored anew is a new version. */
const costsPerUse = ({
  webSearchPerThousand,
  groundedPromptPerThousand,
  webFetchPerThousand,
}: Omit<Price, 'currency'>) => ({
  ...(webSearchPerThousand !== undefined && { costPerWebSearch: perUse(webSearchPerThousand) }),
  ...(groundedPromptPerThousand !== undefined && { costPerGroundedPrompt: perUse(groundedPromptPerThousand) }),
  ...(webFetchPerThousand !== undefined && { costPerWebFetch: perUse(webFetchPerThousand) }),
})

const perUse = (perThousand: number) => part(perThousand, 1000)

const perToken = (perMillion: number | undefined) => (perMillion === undefined ? null : part(perMillion, 1_000_000))

/** With the digits of the price: dividing 0.1 by a million gives others. */
const part = (price: number, count: number) => Number((price / count).toPrecision(15))

/** How often a provider used tools of its own. */
export interface NativeUses {
  webSearches: number
  webFetches: number
}

export const noUses: NativeUses = { webSearches: 0, webFetches: 0 }

/** Cached and cache-written tokens are part of the input, reasoning is part of the output. */
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

/** What a call cost; null where no price is known. No token is paid twice. */
export function computeCost(pricing: DeepReadonly<Pricing> | null, tokens: CountedTokens): Cost {
  if (pricing && 'free' in pricing) return { costMicros: 0, currency: null }
  const price = priceFor(pricing, tokens.input)
  const uses = price && costOfUses(price, tokens)
  if (uses === undefined || !price || isUnpriced(price, tokens)) return unknownCost
  const { input, output, cached, cacheWrite = 0, reasoning } = tokens
  const rates = pickRates(price)
  const spent =
    paid(input - cached - cacheWrite, rates.input) +
    paid(cached, rates.cached) +
    paid(cacheWrite, rates.cacheWrite) +
    paid(output - reasoning, rates.output) +
    paid(reasoning, rates.reasoning) +
    uses
  return { costMicros: Number((spent + PICOS_PER_MICRO / 2n) / PICOS_PER_MICRO), currency: price.currency }
}

/** The price for so much input; undefined where none is known, or where nothing is to be paid. */
function priceFor(pricing: DeepReadonly<Pricing> | null, input: number): DeepReadonly<PriceRange> | undefined {
  if (!pricing || 'free' in pricing) return undefined
  return pricing.ranges?.find(({ range: [from, to] }) => input >= from && (to === null || input < to))
}

/** Where only one of the two prices is known, what the other is for has none. */
const isUnpriced = (
  { inputCostPerToken, outputCostPerToken }: DeepReadonly<PriceRange>,
  { input, output }: CountedTokens,
): boolean => (inputCostPerToken === null && input > 0) || (outputCostPerToken === null && output > 0)

/** What a token of each kind costs, in units of the currency. */
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

/** In millionths of a millionth; undefined where nobody knows what a search costs. */
function costOfUses(
  price: DeepReadonly<PriceRange>,
  { webSearches = 0, webFetches = 0 }: CountedTokens,
): bigint | undefined {
  const { costPerWebSearch: search = null, costPerGroundedPrompt: prompt = null, costPerWebFetch: fetch = null } = price
  if (webSearches > 0 && !isSearchPriced(price)) return undefined
  return paid(search ? webSearches : 0, search) + paid(webSearches > 0 ? 1 : 0, prompt) + paid(webFetches, fetch)
}

/** What is known of a request that is not over: the cached tokens only where the provider has told its input. */
export type KnownTokens = Omit<CountedTokens, 'cached'> & { cached?: number | undefined }

/** The most that a request can cost with so much more output, whatever of it is cached, written to a cache or reasoning. Where something of it has no bound, only the currency is known. */
export function computeMaxCost(pricing: DeepReadonly<Pricing> | null, known: KnownTokens, rest: number): Cost {
  const { input, cached, output, reasoning } = known
  const price = priceFor(pricing, input)
  if (price && isEndless(price, known)) return { ...unknownCost, currency: chooseCurrency(price, known) }
  const rates = price && pickRates(price)
  const read = cached === undefined ? dearestInput(input, rates) : { cached }
  const thought = rates && rates.reasoning > rates.output ? rest : 0
  return computeCost(pricing, { ...known, ...read, output: output + rest, reasoning: reasoning + thought })
}

const isEndless = ({ costPerWebSearch }: DeepReadonly<PriceRange>, { input, webSearches }: KnownTokens): boolean =>
  input === Infinity || (webSearches === Infinity && Boolean(costPerWebSearch))

/** Null where a price is wanting. */
const chooseCurrency = (price: DeepReadonly<PriceRange>, { webSearches = 0 }: KnownTokens): string | null =>
  isUnpriced(price, { input: 1, output: 1, cached: 0, reasoning: 0 }) || (webSearches > 0 && !isSearchPriced(price))
    ? null
    : price.currency

/** So much input as the kind of tokens that costs most. */
function dearestInput(input: number, rates: ReturnType<typeof pickRates> | undefined) {
  if (!rates || rates.input >= Math.max(rates.cached, rates.cacheWrite)) return { cached: 0, cacheWrite: 0 }
  return rates.cached >= rates.cacheWrite ? { cached: input, cacheWrite: 0 } : { cached: 0, cacheWrite: input }
}

export function sumOfCosts(one: Cost, other: Cost): Cost {
  if (one.costMicros === null || other.costMicros === null) return unknownCost
  return { costMicros: one.costMicros + other.costMicros, currency: one.currency ?? other.currency }
}

/** Sums of fractions are not exact, so they are made in whole millionths of a millionth of the currency. */
const PICOS_PER_UNIT = 1e12
const PICOS_PER_MICRO = 1_000_000n

const paid = (tokens: number, cost: number | null): bigint =>
  BigInt(Math.max(0, tokens)) * BigInt(Math.round((cost ?? 0) * PICOS_PER_UNIT))
