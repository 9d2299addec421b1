import { z } from 'zod'
import type { Pricing } from '../../entities/catalogue/ai-model.ts'
import { type CurrentPrice, confirmPrices, listCurrentPrices, setPrices } from '../../entities/catalogue/model-price.ts'
import { withChangeLog } from '../core/changes.ts'
import type { Context } from '../core/context.ts'
import { runStatement } from '../core/run-statement.ts'
import { adminSession, host, router } from '../core/trpc.ts'
import { type Adapter, nativeTools } from '../ports/ai/adapters.ts'
import { type PriceList, priceList } from '../ports/ai/price-list.ts'
import { getDayBefore } from '../ports/days.ts'
import { isSearchPriced, toPricing } from './pricing.ts'

/** Days after which a price list is outdated. */
const DEFAULT_DAYS = 90

/** Administration of model prices. */
export const pricesRouter = router({
  /** Sets the prices of a list. A trigger keeps each version (`keepPriceTrigger`), and earlier records keep their cost. */
  import: host.input(priceList).mutation(async ({ ctx, input }) => {
    const prices = toModelPricings(input)
    const { changed, known: confirmed } = await withChangeLog(ctx, async (em, changes) => {
      const changed = await runStatement(em, setPrices, [JSON.stringify(prices)])
      for (const { id } of changed) changes.add(['all'], 'updated', 'ai-models', id)
      const byModel = (when: 'before' | 'after') => Object.fromEntries(changed.map((one) => [one.model, one[when]]))
      ctx.auditedCall?.recordChange({ before: byModel('before'), after: byModel('after') })
      const confirmation = [input.asOf ?? getDayBefore(0), JSON.stringify(prices)]
      return { changed, known: await runStatement(em, confirmPrices, confirmation) }
    })
    const names = new Set(confirmed.map(({ model }) => model))
    const unknown = prices.filter(({ model }) => !names.has(model)).map(({ model }) => model)
    return { prices: prices.length, changed: changed.map(({ model }) => model), unknown }
  }),

  /** Returns active models without a price, without a price for web search, or with a price older than so many days. */
  check: adminSession
    .input(z.strictObject({ days: z.int().min(1).max(3650).default(DEFAULT_DAYS) }).prefault({}))
    .query(({ ctx, input: { days } }) => checkPrices(ctx, days)),
})

export async function checkPrices({ services }: Context, days = DEFAULT_DAYS) {
  const oldest = getDayBefore(days)
  const prices = await services.sql(listCurrentPrices)
  return prices
    .map(({ modelId, provider, asOf, ...confirmed }) => ({
      modelId,
      provider,
      asOf,
      price: classifyPrice({ asOf, ...confirmed }, oldest),
    }))
    .filter(({ price }) => price !== 'free' && price !== 'known')
}

const toModelPricings = ({ currency, prices, free }: PriceList): { model: string; pricing: Pricing }[] => [
  ...prices.map(({ model, ...rates }) => ({ model, pricing: toPricing({ currency, ...rates }) })),
  ...free.map((model) => ({ model, pricing: { free: true as const } })),
]

function classifyPrice({ pricing, asOf, ...model }: Omit<CurrentPrice, 'modelId' | 'provider'>, oldest: string) {
  if (!pricing || ('ranges' in pricing && !pricing.ranges)) return 'none'
  if ('free' in pricing) return 'free'
  if (maySearch(model) && pricing.ranges?.some((range) => !isSearchPriced(range))) return 'none for web search'
  return asOf !== null && asOf < oldest ? 'outdated' : 'known'
}

type SearchFields = Pick<CurrentPrice, 'adapter' | 'nativeCapabilities' | 'settings'>

/** True if the provider may search the web for the model. */
const maySearch = ({ adapter, nativeCapabilities, settings }: SearchFields): boolean =>
  settings?.toolCalling !== false &&
  settings?.nativeCapabilities !== false &&
  nativeCapabilities.includes('web_search') &&
  nativeTools[adapter as Adapter].some((tool) => tool === 'web_search')
