import type { Model } from '../api/client.ts'
import { language, t } from '../text/labels.ts'
import type { ChatModel } from './models.ts'

const compactNumber = new Intl.NumberFormat(language, { notation: 'compact' })

/** Lists what a model takes and costs, as far as it is known. */
export function describeModel(model: ChatModel): string[] {
  if (model.assistant) return [`@${model.assistant.handle}`, model.assistant.base.label]
  const { limits, status, input } = model
  const most = limits?.maxInputTokens
  const facts = [
    most && t('app.model.reads', { tokens: compactNumber.format(most) }),
    input.includes('image') && t('app.model.images'),
    input.includes('audio') && t('app.model.audio'),
    input.includes('video') && t('app.model.video'),
    formatPrice(model),
    status === 'offline' && t('app.model.offline'),
  ]
  return facts.filter((fact): fact is string => Boolean(fact))
}

const MILLION = 1_000_000

/** Formats the price of a million input and output tokens. */
function formatPrice({ pricing }: Model): string | undefined {
  if (!pricing) return undefined
  if ('free' in pricing) return t('app.model.free')
  const range = pricing.ranges?.[0]
  if (!range) return undefined
  const { currency, inputCostPerToken, outputCostPerToken } = range
  const money = new Intl.NumberFormat(language, { style: 'currency', currency, maximumFractionDigits: 2 })
  const [input, output] = [inputCostPerToken ?? 0, outputCostPerToken ?? 0].map((cost) => money.format(cost * MILLION))
  return t('app.model.price', { input: input ?? '', output: output ?? '' })
}
