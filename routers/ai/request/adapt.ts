import type { Context } from '../../core/context.ts'
import { type Adapter, untaken } from '../../ports/ai/adapters.ts'
import type { CallableModel, CallParameters, Effort, HintParameter } from '../../ports/ai/models.ts'
import { availableNative } from './beside-native.ts'
import type { AiRequest } from './request.ts'

/** Parameters that shape an answer without changing what it is about: models that have no word for one are asked without it. */
const hints = [
  'topK',
  'presencePenalty',
  'frequencyPenalty',
  'verbosity',
  'templateOptions',
] as const satisfies HintParameter[]

/** The request in the words of this model, where the caller leaves that to the service. */
export function adaptRequest(ctx: Pick<Context, 'hints'>, request: AiRequest, model: CallableModel): AiRequest {
  const { isAdaptable, parameters } = request
  const unsent = hints.filter((name) => parameters[name] !== undefined && hasNoWordFor(name, model))
  const kept = unsent.length > 0 ? without(parameters, unsent) : parameters
  const nativeTools = availableNative(request, model)
  const missing = (request.optionalTools ?? []).filter((tool) => !nativeTools.includes(tool))
  ctx.hints.unsentParameters = [...unsent, ...missing]
  if (!isAdaptable) return kept === parameters ? request : { ...request, parameters: kept }
  return { ...request, parameters: withEffort(kept, model), ...(nativeTools.length > 0 && { nativeTools }) }
}

const hasNoWordFor = (name: HintParameter | 'maxThinkingTokens', { adapter }: CallableModel): boolean =>
  untaken[adapter as Adapter].some((untaken) => untaken === name)

/** Models that are told an effort alone are told the one that the number of tokens stands for. */
function withEffort(parameters: CallParameters, model: CallableModel): CallParameters {
  const { maxThinkingTokens: budget, effort } = parameters
  if (budget === undefined || !hasNoWordFor('maxThinkingTokens', model)) return parameters
  return { ...without(parameters, ['maxThinkingTokens']), effort: effort ?? effortFor(budget), isEffortOptional: true }
}

/** The most tokens of thoughts that an effort stands for. */
const budgets: [effort: Effort, most: number][] = [
  ['low', 4095],
  ['medium', 15_999],
]

const effortFor = (budget: number): Effort => budgets.find(([, most]) => budget <= most)?.[0] ?? 'high'

const without = (parameters: CallParameters, names: readonly string[]): CallParameters =>
  Object.fromEntries(Object.entries(parameters).filter(([name]) => !names.includes(name)))
