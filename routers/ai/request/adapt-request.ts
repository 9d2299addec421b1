import type { Context } from '../../core/context.ts'
import type { Issue } from '../../core/problems.ts'
import { type Adapter, type NativeTool, unsupportedByAdapter } from '../../ports/ai/adapters.ts'
import type { AssistantPart } from '../../ports/ai/messages.ts'
import type { CallableModel, CallParameters, Effort, HintParameter, UnsentParameter } from '../../ports/ai/models.ts'
import { isToolCallRequired } from '../../ports/ai/tools.ts'
import type { AiRequest, AskedMessage } from './request.ts'
import { hasNative, selectedNative, selectedTools } from './tool-references.ts'

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
  const nativeTools = chooseNativeTools(request, model)
  const missing = (request.optionalTools ?? []).filter((tool) => !nativeTools.includes(tool))
  ctx.hints.unsentParameters = [...unsent, ...missing]
  if (!isAdaptable) return kept === parameters ? request : { ...request, parameters: kept }
  return { ...request, parameters: withEffort(kept, model), ...(nativeTools.length > 0 && { nativeTools }) }
}

const hasNoWordFor = (name: HintParameter | 'maxThinkingTokens', { adapter }: CallableModel): boolean =>
  unsupportedByAdapter[adapter as Adapter].some((untaken) => untaken === name)

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

const conflictAt = (path: Issue['path']): Issue => ({ path, message: 'cannot be set beside a tool of the provider' })

/** What cannot be asked for along with tools that the provider runs itself: it would pass over one of the two in silence. */
export function findNativeConflicts(request: AiRequest, model: CallableModel): Issue[] {
  const native = new Set<string>(selectedNative(model, request))
  if (native.size === 0) return []
  const issues = request.tools.flatMap(({ name }, at) => (native.has(name) ? conflictAt(['tools', at, 'name']) : []))
  if (model.adapter === 'openai') issues.push(...findOpenAiConflicts(request))
  if (model.adapter === 'google') issues.push(...findGoogleConflicts(request, model))
  return issues
}

/** Those of the optional tools that the provider runs for this model beside what else is asked for. */
export function chooseNativeTools(request: AiRequest, model: CallableModel): readonly NativeTool[] {
  const nativeTools = (request.optionalTools ?? []).filter((tool) => hasNative(model, tool))
  return findNativeConflicts({ ...request, nativeTools }, model).length === 0 ? nativeTools : []
}

/** Its older API, which alone has words for these, runs no tools. */
const findOpenAiConflicts = ({ parameters }: AiRequest): Issue[] =>
  (['stop', 'seed'] as const).flatMap((name) =>
    parameters[name] === undefined ? [] : conflictAt(['parameters', name]),
  )

/** Most of its models take its own tools alone. */
function findGoogleConflicts({ tools, modelTools = [], format }: AiRequest, model: CallableModel): Issue[] {
  const isOwn = (reference: string) => selectedTools(model, [reference]).length > 0
  return [
    ...(tools.length > 0 ? [conflictAt(['tools'])] : []),
    ...modelTools.flatMap((reference, at) => (isOwn(reference) ? conflictAt(['modelTools', at]) : [])),
    ...(format ? [conflictAt(['format'])] : []),
  ]
}

/** The parameters of a request that would not reach the provider of the model as they are. */
export async function unsentParameters(ctx: Context, asked: AiRequest, model: CallableModel): Promise<Issue[]> {
  if (asked.optionalParameters) return []
  const unsent = await ctx.services.models.findUnsentParameters(model, asked.parameters, {
    hasTools: asked.tools.length > 0 || model.tools.length > 0,
    isForced: isToolCallRequired(asked.toolChoice),
    schema: asked.format?.schema,
    assistantPrefix: findBeginning(asked.messages),
  })
  const isLeftOut = unsent.some(({ name }) => name === 'effort') && asked.parameters.isEffortOptional
  if (isLeftOut) ctx.hints.unsentParameters = [...(ctx.hints.unsentParameters ?? []), 'effort']
  return unsent
    .filter((parameter) => !isDispensable(asked, parameter))
    .map((parameter) => ({ path: pathOf(parameter), message: writeMessage(parameter) }))
}

/** The usual value asks for nothing, and some efforts are ours. */
const isDispensable = ({ isAdaptable, parameters }: AiRequest, { name }: UnsentParameter): boolean =>
  (name === 'effort' && parameters.isEffortOptional === true) ||
  (isAdaptable === true && (name === 'temperature' || name === 'topP') && parameters[name] === 1)

/** What the model said first in the turn that goes on with the results of tools. */
function findBeginning(messages: readonly AskedMessage[]): AssistantPart[] {
  const said = messages.filter(({ role }) => role !== 'system')
  const start = said.findLastIndex(({ role }, at) => role === 'user' && said[at - 1]?.role !== 'tool')
  const turn = said.slice(start + 1)
  const end = turn.findIndex(({ role }) => role !== 'assistant')
  const first = end < 0 ? [] : turn.slice(0, end)
  return first.flatMap((message) => (message.role === 'assistant' ? message.content : []))
}

const pathOf = ({ name }: UnsentParameter): Issue['path'] =>
  name === 'toolChoice' ? [name] : name === 'schema' ? ['format', name] : ['parameters', name]

function writeMessage({ max, isAcceptedAlone }: UnsentParameter): string {
  if (max !== undefined) return `must be at most ${max} for this model`
  return isAcceptedAlone
    ? 'is nothing that this model takes beside the other parameters'
    : 'is nothing that this model takes'
}
