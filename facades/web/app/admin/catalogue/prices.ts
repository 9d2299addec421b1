import type { Model } from '../../shared/api/client.ts'
import { regions, t } from '../../shared/text/labels.ts'
import { readNumber, readText } from '../form-fields.tsx'

type Pricing = NonNullable<Model['pricing']>
export type PriceRange = NonNullable<Extract<Pricing, { ranges: unknown }>['ranges']>[number]

const MILLION = 1_000_000

/** The prices of a model by the length of the input, the shortest first. */
export const getPriceRanges = ({ pricing }: Pick<Model, 'pricing'>): readonly PriceRange[] =>
  (pricing && 'ranges' in pricing && pricing.ranges) || []

export const getFirstRange = (model: Pick<Model, 'pricing'>): PriceRange | undefined => getPriceRanges(model)[0]

export const isFree = ({ pricing }: Pick<Model, 'pricing'>): boolean => pricing !== null && 'free' in pricing

/** The price of a million tokens; undefined where it is unknown, and money limits refuse the model. */
export function formatPrice(model: Pick<Model, 'pricing'>): string | undefined {
  if (isFree(model)) return t('app.model.free')
  const range = getFirstRange(model)
  if (!range) return undefined
  const money = new Intl.NumberFormat([...regions], {
    style: 'currency',
    currency: range.currency,
    maximumFractionDigits: 2,
  })
  const [input, output] = [range.inputCostPerToken, range.outputCostPerToken].map((cost) =>
    cost === null ? '–' : money.format(cost * MILLION),
  )
  return `${input} / ${output}`
}

/** The price of a million tokens, as a field shows it. */
export const toMillionPrice = (cost: number | null | undefined): string =>
  cost === null || cost === undefined ? '' : String(Number((cost * MILLION).toPrecision(12)))

/** The members of the form that are told by a million tokens. */
export const rateFields = [
  ['inputCostPerToken', 'app.admin.priceInput'],
  ['inputCostPerCachedToken', 'app.admin.priceCached'],
  ['inputCostPerCacheWriteToken', 'app.admin.priceCacheWrite'],
  ['outputCostPerToken', 'app.admin.priceOutput'],
  ['outputCostPerReasoningToken', 'app.admin.priceReasoning'],
] as const

/** The prices that a form tells: unknown, nothing, or one for each step of the length of the input. */
export function readPricing(form: FormData, model: Pick<Model, 'pricing'>): Pricing | null {
  const kind = readText(form, 'kind')
  if (kind === 'unknown') return null
  if (kind === 'free') return { free: true }
  const known = getPriceRanges(model)
  const currency = readText(form, 'currency').toUpperCase()
  const steps = form
    .getAll('step')
    .map((step) => ({ step: Number(step), from: readNumber(form, `${step} from`) ?? 0 }))
    .toSorted((a, b) => a.from - b.from)
  const ranges = steps.map(({ step, from }, at): PriceRange => {
    const [input = null, cached = null, cacheWrite = null, output = null, reasoning = null] = rateFields.map(([name]) =>
      readRate(form, `${step} ${name}`),
    )
    return {
      // The prices of searches stay as they are.
      ...known[step],
      currency,
      range: [from, steps[at + 1]?.from ?? known.at(-1)?.range[1] ?? null],
      inputCostPerToken: input,
      inputCostPerCachedToken: cached,
      inputCostPerCacheWriteToken: cacheWrite,
      outputCostPerToken: output,
      outputCostPerReasoningToken: reasoning,
    }
  })
  return { ranges, priorityRanges: null }
}

/** With the digits of the price: dividing 0.1 by a million gives others. */
function readRate(form: FormData, name: string): number | null {
  const cost = readNumber(form, name)
  return cost === null ? null : Number((cost / MILLION).toPrecision(15))
}
