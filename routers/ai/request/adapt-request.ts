import type { Context } from '../../core/context.ts'
import type { Issue } from '../../core/problems.ts'
import { type Adapter, type HintParameter, hintParameters, unsupportedByAdapter } from '../../ports/ai/adapters.ts'
import type { AssistantPart } from '../../ports/ai/messages.ts'
import type { CallableModel, CallParameters, Effort, UnsentParameter } from '../../ports/ai/models.ts'
import { isToolCallRequired } from '../../ports/ai/tools.ts'
import { applyAssistant, isSetByAssistant } from './assistant-settings.ts'
import type { AiRequest, RequestMessage } from './request.ts'
import { chooseOptionalTools } from './tool-references.ts'

/** Adapts the request to the model: by the settings of its assistant, and as far as the caller leaves that to the service. */
export function adaptRequest(ctx: Pick<Context, 'notes'>, callerRequest: AiRequest, model: CallableModel): AiRequest {
  const { request, replaced } = applyAssistant(callerRequest, model)
  const { isAdaptable, parameters } = request
  const unsent = hintParameters.filter(
    (name) => isRequested(request, name) && (lacksParameter(name, model) || isWithoutEffect(name, parameters)),
  )
  const sentParameters = unsent.length > 0 ? omitParameters(parameters, unsent) : parameters
  const adaptedParameters = isAdaptable ? withEffort(sentParameters, model) : sentParameters
  const { nativeTools, unsent: unsentTools } = chooseOptionalTools(request, model)
  ctx.notes.setUnsentParameters([...unsent, ...unsentTools, ...replaced])
  if (!isAdaptable) return sentParameters === parameters ? request : { ...request, parameters: sentParameters }
  return { ...request, parameters: adaptedParameters, ...(nativeTools.length > 0 && { nativeTools }) }
}

/** Returns true if the caller sets the parameter; a cache mark may stand at any part of the request. */
const isRequested = ({ parameters, messages, tools, system = [] }: AiRequest, name: HintParameter): boolean =>
  parameters[name] !== undefined ||
  (name === 'cache' &&
    [...tools, ...system, ...messages.flatMap(({ content }): readonly object[] => content)].some(
      (part) => 'cache' in part,
    ))

/** Returns true for alternatives to tokens of which none is reported. */
const isWithoutEffect = (name: HintParameter, { logprobs }: CallParameters): boolean =>
  name === 'topLogprobs' && !logprobs

const lacksParameter = (name: HintParameter | 'maxThinkingTokens', { adapter }: CallableModel): boolean =>
  unsupportedByAdapter[adapter as Adapter].some((unsupported) => unsupported === name)

/** Replaces the thinking budget by an effort for models that support only efforts. */
function withEffort(parameters: CallParameters, model: CallableModel): CallParameters {
  const { maxThinkingTokens: budget, effort } = parameters
  if (budget === undefined || !lacksParameter('maxThinkingTokens', model)) return parameters
  return {
    ...omitParameters(parameters, ['maxThinkingTokens']),
    effort: effort ?? toEffort(budget),
  }
}

/** The largest thinking budget of each effort. */
const effortBudgets: [effort: Effort, most: number][] = [
  ['low', 4095],
  ['medium', 15_999],
]

const toEffort = (budget: number): Effort => effortBudgets.find(([, most]) => budget <= most)?.[0] ?? 'high'

const omitParameters = (parameters: CallParameters, names: readonly string[]): CallParameters =>
  Object.fromEntries(Object.entries(parameters).filter(([name]) => !names.includes(name)))

/** Finds the parameters that would not reach the provider unchanged. */
export async function findUnsentParameters(ctx: Context, request: AiRequest, model: CallableModel): Promise<Issue[]> {
  if (request.optionalParameters) return []
  const assistantPrefix = listTurnStart(request.messages)
  const unsent = await ctx.services.ai.models.findUnsentParameters(model, request.parameters, {
    hasTools: request.tools.length > 0 || model.tools.length > 0,
    isForced: isToolCallRequired(request.toolChoice),
    schema: request.format?.schema,
    assistantPrefix,
  })
  for (const { name } of unsent) if (isReasoningHint(request, name)) ctx.notes.addUnsentParameter(name)
  return unsent
    .filter((parameter) => !isOptional(request, parameter))
    .map((parameter) => ({ path: toPath(parameter), message: describeUnsent(parameter) }))
}

/** True for hints, for what an assistant sets, and for default values, which have no effect. */
const isOptional = (request: AiRequest, { name }: UnsentParameter): boolean =>
  isReasoningHint(request, name) ||
  isSetByAssistant(request, name) ||
  (request.isAdaptable === true && (name === 'temperature' || name === 'topP') && request.parameters[name] === 1)

/** True for the effort and the summary of reasoning, which models that do not reason are asked without. */
const isReasoningHint = ({ isAdaptable }: AiRequest, name: UnsentParameter['name']): boolean =>
  isAdaptable === true && (name === 'effort' || name === 'thoughts')

/** Returns the first parts of the model's current turn, which continues with tool results. */
function listTurnStart(messages: readonly RequestMessage[]): AssistantPart[] {
  const withoutInstructions = messages.filter(({ role }) => role !== 'system')
  const start = withoutInstructions.findLastIndex(
    ({ role }, at) => role === 'user' && withoutInstructions[at - 1]?.role !== 'tool',
  )
  const turn = withoutInstructions.slice(start + 1)
  const end = turn.findIndex(({ role }) => role !== 'assistant')
  const first = end < 0 ? [] : turn.slice(0, end)
  return first.flatMap((message) => (message.role === 'assistant' ? message.content : []))
}

function toPath({ name }: UnsentParameter): Issue['path'] {
  if (name === 'toolChoice') return [name]
  return name === 'schema' ? ['format', name] : ['parameters', name]
}

function describeUnsent({ max, isAcceptedAlone }: UnsentParameter): string {
  if (max !== undefined) return `must be at most ${max} for this model`
  return isAcceptedAlone
    ? 'is nothing that this model takes beside the other parameters'
    : 'is nothing that this model takes'
}
