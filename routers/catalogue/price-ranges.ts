import { z } from 'zod'
import { currencyCode } from '../ports/ai/price-list.ts'

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
export const priceRanges = z
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
