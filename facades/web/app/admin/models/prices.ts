import type { Model } from '../../shared/api/client.ts'
import { regions, t } from '../../shared/text/labels.ts'
import { readText } from '../action-dialog.tsx'
import { readNumber } from '../json-input.ts'

type Pricing = NonNullable<Model['pricing']>
type Range = NonNullable<Extract<Pricing, { ranges: unknown }>['ranges']>[number]

const MILLION = 1_000_000

/** The first range of the prices of a model, where it has one. */
export function firstRange({ pricing }: Pick<Model, 'pricing'>): Range | undefined {
  return pricing && 'ranges' in pricing ? pricing.ranges?.[0] : undefined
}

export const isFree = ({ pricing }: Pick<Model, 'pricing'>): boolean => pricing !== null && 'free' in pricing

/** The price of a million tokens; undefined where it is unknown, and money limits refuse the model. */
export function priceText(model: Pick<Model, 'pricing'>): string | undefined {
  if (isFree(model)) return t('app.model.free')
  const range = firstRange(model)
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
export const perMillion = (cost: number | null | undefined): string =>
  cost === null || cost === undefined ? '' : String(Number((cost * MILLION).toPrecision(12)))

/** The members of the form that are told by a million tokens. */
export const rates = [
  ['inputCostPerToken', 'app.admin.priceInput'],
  ['inputCostPerCachedToken', 'app.admin.priceCached'],
  ['outputCostPerToken', 'app.admin.priceOutput'],
  ['outputCostPerReasoningToken', 'app.admin.priceReasoning'],
] as const

/** The prices that a form tells: unknown, nothing, or the first range in place of the one before. */
export function readPricing(form: FormData, model: Pick<Model, 'pricing'>): Pricing | null {
  const kind = readText(form, 'kind')
  if (kind === 'unknown') return null
  if (kind === 'free') return { free: true }
  const ranges = model.pricing && 'ranges' in model.pricing ? (model.pricing.ranges ?? []) : []
  const [before = { range: [0, null] }, ...others] = ranges
  const [input = null, cached = null, output = null, reasoning = null] = rates.map(([name]) => readRate(form, name))
  const currency = readText(form, 'currency').toUpperCase()
  const first = {
    ...before,
    currency,
    inputCostPerToken: input,
    inputCostPerCachedToken: cached,
    outputCostPerToken: output,
    outputCostPerReasoningToken: reasoning,
  }
  return { ranges: [first, ...others.map((range) => ({ ...range, currency }))], priorityRanges: null }
}

function readRate(form: FormData, name: string): number | null {
  const cost = readNumber(form, name)
  return cost === null ? null : cost / MILLION
}
