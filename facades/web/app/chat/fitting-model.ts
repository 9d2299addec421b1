import type { LimitRefusal } from '../../../client/index.ts'
import type { ChatModel } from '../shared/models/models.ts'

/**
 * Returns the first other model with which the refused question fits into the rest of the limit, by its price and its
 * longest answer; undefined if there is none. A limit of the model or of its provider does not apply to another one.
 */
export function findFittingModel(
  limit: LimitRefusal,
  models: readonly ChatModel[],
  refusedId: string,
): ChatModel | undefined {
  const refused = models.find(({ modelId }) => modelId === refusedId)
  return models.find(
    (model) =>
      model.modelId !== refusedId &&
      model.status !== 'offline' &&
      (isBeyondLimit(limit, model, refused) || computeAmount(limit, model) <= limit.left),
  )
}

const isBeyondLimit = ({ subject }: LimitRefusal, model: ChatModel, refused: ChatModel | undefined): boolean =>
  subject === 'model' || (subject === 'provider' && model.providerName !== refused?.providerName)

/** Returns the most that the question may take with a model, in the unit of the limit. */
function computeAmount({ unit, currency, inputTokens, answerTokens }: LimitRefusal, model: ChatModel): number {
  const output = Math.min(answerTokens ?? Infinity, model.limits?.maxOutputTokens ?? Infinity)
  if (unit === 'requests' || inputTokens === undefined) return Infinity
  if (unit === 'tokens') return inputTokens + output
  return computeCost(model, { currency, inputTokens, output })
}

const MICROS = 1_000_000

function computeCost(
  { pricing }: ChatModel,
  { currency, inputTokens, output }: { currency: string | null; inputTokens: number; output: number },
): number {
  if (pricing && 'free' in pricing) return 0
  const price = pricing?.ranges?.findLast(({ range: [from] }) => inputTokens >= (from ?? 0))
  if (!price || price.currency !== currency) return Infinity
  const { inputCostPerToken, outputCostPerToken } = price
  if (inputCostPerToken === null || outputCostPerToken === null) return Infinity
  return Math.ceil((inputTokens * inputCostPerToken + output * outputCostPerToken) * MICROS)
}
