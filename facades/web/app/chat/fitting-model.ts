import type { LimitRefusal } from '../../../client/index.ts'
import type { ChatModel } from '../shared/models/models.ts'

/** The most models that are offered instead of one. */
const MAX_OFFERED = 3

/**
 * Lists other models with which the refused question fits into the rest of the limit, by their prices and their longest
 * answers, those first that take least of it. A limit of the model or of its provider does not apply to another one.
 */
export function listFittingModels(
  limit: LimitRefusal,
  models: readonly ChatModel[],
  refusedId: string,
): readonly ChatModel[] {
  const refused = models.find(({ modelId }) => modelId === refusedId)
  const getAmount = (model: ChatModel) =>
    isBeyondLimit(limit, model, refused) ? Number.NEGATIVE_INFINITY : computeAmount(limit, model)
  return models
    .filter(({ modelId, status, assistant }) => !assistant && modelId !== refusedId && status !== 'offline')
    .map((model) => ({ model, amount: getAmount(model) }))
    .filter(({ amount }) => amount <= limit.left)
    .toSorted((one, other) => one.amount - other.amount)
    .slice(0, MAX_OFFERED)
    .map(({ model }) => model)
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
