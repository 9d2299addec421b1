import { z } from 'zod'
import { day } from '../days.ts'

/** In units of the currency. */
const perMillion = z.number().min(0).max(1_000_000)

const rates = {
  inputPerMillion: perMillion,
  outputPerMillion: perMillion,
  /** Falls back to the price of other input. */
  cachedInputPerMillion: perMillion.optional(),
  /** Falls back to the price of other input. */
  cacheWritePerMillion: perMillion.optional(),
  /** Falls back to the price of other output. */
  reasoningPerMillion: perMillion.optional(),
}

const perThousand = z.number().min(0).max(100_000).optional()

/** Prices of tools that the provider runs, in units of the currency, independent of the input's length. */
const useRates = {
  /** Price of web searches. If this and the next are absent, the cost of calls that search is unknown. */
  webSearchPerThousand: perThousand,
  /** Price of requests that were answered by searches, however many. */
  groundedPromptPerThousand: perThousand,
  /** Price of fetched pages, beside their tokens. */
  webFetchPerThousand: perThousand,
}

/** Prices for inputs of at least so many tokens. */
const tier = z.strictObject({ fromInputTokens: z.int().positive(), ...rates })

export const currencyCode = z.string().regex(/^[A-Z]{3}$/, 'must be a currency code such as EUR')

const tiers = z
  .array(tier)
  .max(19)
  .refine(
    (all) => all.every(({ fromInputTokens }, index) => fromInputTokens > (all[index - 1]?.fromInputTokens ?? 0)),
    'must begin with the fewest tokens',
  )
  .optional()

/** The price of a model in the configuration. */
export const price = z.strictObject({ currency: currencyCode, ...rates, ...useRates, tiers })
export type Price = z.output<typeof price>

const model = z.string().trim().min(1).max(200)

/** Schema of the file that `svc prices import` reads. */
export const priceList = z.strictObject({
  asOf: day.optional(),
  /** Currency of all prices in the file. */
  currency: currencyCode,
  prices: z
    .array(z.strictObject({ model, ...rates, ...useRates, tiers }))
    .max(10_000)
    .superRefine((prices, ctx) => {
      const seen = new Set<string>()
      for (const [index, { model }] of prices.entries()) {
        if (seen.has(model))
          ctx.addIssue({ code: 'custom', path: [index, 'model'], message: `there are two of ${model}` })
        seen.add(model)
      }
    }),
  /** Models that cost nothing. */
  free: z.array(model).max(10_000).default([]),
})
export type PriceList = z.output<typeof priceList>
