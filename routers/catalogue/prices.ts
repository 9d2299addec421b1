import { z } from 'zod'
import type { Pricing } from '../../entities/catalogue/ai-model.ts'
import { confirmPrices, listCurrentPrices, setPrices } from '../../entities/catalogue/model-price.sql.ts'
import { host, router } from '../core/trpc.ts'
import { type PriceList, priceList } from '../ports/ai/price-list.ts'
import { pricingOf } from './pricing.ts'

const DAY_MS = 86_400_000
const dayBefore = (days: number) => new Date(Date.now() - days * DAY_MS).toISOString().slice(0, 10)

/** The prices of models, for those who run the installation. */
export const pricesRouter = router({
  /** Gives models the prices of a list. Records of earlier calls keep what these cost. */
  import: host.input(priceList).mutation(async ({ ctx, input }) => {
    const prices = pricesOf(input)
    const [changed, known] = await ctx
      .em()
      .transactional(async (em) => [
        await em.execute<{ model: string }[]>(setPrices, [JSON.stringify(prices)]),
        await em.execute<{ model: string }[]>(confirmPrices, [input.asOf ?? dayBefore(0), JSON.stringify(prices)]),
      ])
    const names = new Set(known?.map(({ model }) => model))
    const unknown = prices.filter(({ model }) => !names.has(model)).map(({ model }) => model)
    return { prices: prices.length, changed: changed?.map(({ model }) => model) ?? [], unknown }
  }),

  /** The models that are switched on and have no price, or one of a list that is older than so many days. */
  check: host
    .input(z.strictObject({ days: z.int().min(1).max(3650).default(90) }).prefault({}))
    .query(async ({ ctx, input: { days } }) => {
      const oldest = dayBefore(days)
      const prices = await ctx.services.sql(listCurrentPrices)
      return prices
        .map(({ pricing, ...model }) => ({ ...model, price: stateOf(pricing, model.asOf, oldest) }))
        .filter(({ price }) => price === 'none' || price === 'outdated')
    }),
})

const pricesOf = ({ currency, prices, free }: PriceList): { model: string; pricing: Pricing }[] => [
  ...prices.map(({ model, ...rates }) => ({ model, pricing: pricingOf({ currency, ...rates }) })),
  ...free.map((model) => ({ model, pricing: { free: true as const } })),
]

function stateOf(pricing: Pricing | null, asOf: string | null, oldest: string) {
  if (!pricing || ('ranges' in pricing && !pricing.ranges)) return 'none'
  if ('free' in pricing) return 'free'
  return asOf !== null && asOf < oldest ? 'outdated' : 'known'
}
