import { z } from 'zod'
import type { Pricing } from '../../entities/catalogue/ai-model.ts'
import { type CurrentPrice, confirmPrices, listCurrentPrices, setPrices } from '../../entities/catalogue/model-price.ts'
import { withChangeLog } from '../core/changes.ts'
import type { Context } from '../core/context.ts'
import { runStatement } from '../core/run-statement.ts'
import { adminSession, host, router } from '../core/trpc.ts'
import { type Adapter, nativeTools } from '../ports/ai/adapters.ts'
import { type PriceList, priceList } from '../ports/ai/price-list.ts'
import { isSearchPriced, toPricing } from './pricing.ts'

/** After how many days a list of prices is looked at again. */
const USUAL_DAYS = 90

const DAY_MS = 86_400_000
const dayBefore = (days: number) => new Date(Date.now() - days * DAY_MS).toISOString().slice(0, 10)

/** The prices of models, for those who run the installation. */
export const pricesRouter = router({
  /** Gives models the prices of a list. Records of earlier calls keep what these cost. */
  import: host.input(priceList).mutation(async ({ ctx, input }) => {
    const prices = toPricings(input)
    const { changed, known } = await withChangeLog(ctx, async (em, changes) => {
      const changed = await runStatement(em, setPrices, [JSON.stringify(prices)])
      for (const { id } of changed) changes.add(['all'], 'updated', 'ai-models', id)
      const byModel = (when: 'before' | 'after') => Object.fromEntries(changed.map((one) => [one.model, one[when]]))
      ctx.auditedCall?.recordChange({ before: byModel('before'), after: byModel('after') })
      const listed = [input.asOf ?? dayBefore(0), JSON.stringify(prices)]
      return { changed, known: await runStatement(em, confirmPrices, listed) }
    })
    const names = new Set(known.map(({ model }) => model))
    const unknown = prices.filter(({ model }) => !names.has(model)).map(({ model }) => model)
    return { prices: prices.length, changed: changed.map(({ model }) => model), unknown }
  }),

  /** The models that are switched on and have no price, none for web search, or one of a list older than so many days. */
  check: adminSession
    .input(z.strictObject({ days: z.int().min(1).max(3650).default(USUAL_DAYS) }).prefault({}))
    .query(({ ctx, input: { days } }) => checkPrices(ctx, days)),
})

export async function checkPrices({ services }: Context, days = USUAL_DAYS) {
  const oldest = dayBefore(days)
  const prices = await services.sql(listCurrentPrices)
  return prices
    .map(({ modelId, provider, asOf, ...known }) => ({
      ...{ modelId, provider, asOf },
      price: rateAge({ asOf, ...known }, oldest),
    }))
    .filter(({ price }) => price !== 'free' && price !== 'known')
}

const toPricings = ({ currency, prices, free }: PriceList): { model: string; pricing: Pricing }[] => [
  ...prices.map(({ model, ...rates }) => ({ model, pricing: toPricing({ currency, ...rates }) })),
  ...free.map((model) => ({ model, pricing: { free: true as const } })),
]

function rateAge({ pricing, asOf, ...model }: Omit<CurrentPrice, 'modelId' | 'provider'>, oldest: string) {
  if (!pricing || ('ranges' in pricing && !pricing.ranges)) return 'none'
  if ('free' in pricing) return 'free'
  if (maySearch(model) && pricing.ranges?.some((range) => !isSearchPriced(range))) return 'none for web search'
  return asOf !== null && asOf < oldest ? 'outdated' : 'known'
}

type Searching = Pick<CurrentPrice, 'adapter' | 'nativeCapabilities' | 'settings'>

/** Whether its provider may be asked to search the web for it. */
const maySearch = ({ adapter, nativeCapabilities, settings }: Searching): boolean =>
  settings?.toolCalling !== false &&
  settings?.nativeCapabilities !== false &&
  nativeCapabilities.includes('web_search') &&
  nativeTools[adapter as Adapter].some((tool) => tool === 'web_search')
