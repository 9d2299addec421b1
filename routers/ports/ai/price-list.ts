import { z } from 'zod'
import { day } from '../days.ts'

/** In units of the currency. */
const perMillion = z.number().min(0).max(1_000_000)

const rates = {
  inputPerMillion: perMillion,
  outputPerMillion: perMillion,
  /** As other input, where it is absent. */
  cachedInputPerMillion: perMillion.optional(),
  /** As other input, where it is absent. */
  cacheWritePerMillion: perMillion.optional(),
  /** As other output, where it is absent. */
  reasoningPerMillion: perMillion.optional(),
}

const perThousand = z.number().min(0).max(100_000).optional()

/** What tools cost that the provider runs itself, in units of the currency, whatever the length of the input. */
const useRates = {
  /** For each search of the web. Where this and the next are absent, nobody knows what a call costs that searches. */
  webSearchPerThousand: perThousand,
  /** For each request that was answered by searches, however many these were. */
  groundedPromptPerThousand: perThousand,
  /** For each page that was fetched; nothing beside its tokens, where it is absent. */
  webFetchPerThousand: perThousand,
}

/** What holds instead where the input has at least so many tokens. */
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

/** What a model costs, as the configuration says it. */
export const price = z.strictObject({ currency: currencyCode, ...rates, ...useRates, tiers })
export type Price = z.output<typeof price>

const model = z.string().trim().min(1).max(200)

/** The file that `svc prices import` reads. */
export const priceList = z.strictObject({
  asOf: day.optional(),
  /** Of all prices in the file. */
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
  /** Models for which nothing is paid. */
  free: z.array(model).max(10_000).default([]),
})
export type PriceList = z.output<typeof priceList>
