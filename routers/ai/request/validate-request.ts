import type { Issue } from '../../core/problems.ts'
import { type Adapter, type NativeTool, unsupportedByAdapter } from '../../ports/ai/adapters.ts'
import type { ToolCall, ToolResult } from '../../ports/ai/messages.ts'
import type { CallableModel } from '../../ports/ai/models.ts'
import { isToolCallRequired, readForcedNativeTool } from '../../ports/ai/tools.ts'
import { isSetByAssistant } from './assistant-settings.ts'
import { findUnsupportedFiles, type TextReading } from './file-support.ts'
import type { ToolApproval } from './parts.ts'
import type { AiRequest, RequestMessage } from './request.ts'
import { findNativeConflicts, findUnknownReferences, hasNativeTool } from './tool-references.ts'

/** Validates what the schema cannot check. `inputTokens` is our estimate. */
export function validateRequest(
  request: AiRequest,
  model: CallableModel | undefined,
  inputTokens: number,
  textReading: TextReading = {},
): Issue[] {
  const { messages } = request
  return [
    ...(model ? [] : [createIssue([nameModelMember(request)], 'is not a model that you may use')]),
    ...(request.isAdaptable || endsWithUserTurn(messages)
      ? []
      : [createIssue(['messages'], 'must end with a message of the user')]),
    ...findUnpairedTools(messages),
    ...findUnknownToolChoice(request),
    ...findContradictions(request),
    ...(model ? [...findExcessInput(inputTokens, model), ...findModelIssues(request, model, textReading)] : []),
  ]
}

/** Names the member by which the caller chose the model. */
const nameModelMember = ({ assistant, answerModel }: AiRequest) =>
  assistant && answerModel !== undefined ? 'answerModel' : 'model'

const createIssue = (path: Path, message: string): Issue => ({ path, message })

const endsWithUserTurn = (messages: readonly RequestMessage[]) => ['user', 'tool'].includes(messages.at(-1)?.role ?? '')

function findUnknownToolChoice({ tools, toolChoice }: AiRequest): Issue[] {
  if (toolChoice === 'required' && tools.length === 0) return [createIssue(['toolChoice'], 'needs tools')]
  const isUnknown =
    typeof toolChoice === 'object' && 'name' in toolChoice && tools.every(({ name }) => name !== toolChoice.name)
  return isUnknown ? [createIssue(['toolChoice'], 'is no tool of this request')] : []
}

function findContradictions({ parameters: { effort, thinking, maxThinkingTokens } }: AiRequest): Issue[] {
  if (effort !== 'none') return []
  const message = 'cannot be set where nothing is to be thought'
  return [
    ...(maxThinkingTokens === undefined ? [] : [createIssue(['parameters', 'maxThinkingTokens'], message)]),
    ...(thinking === undefined ? [] : [createIssue(['parameters', 'thinking'], message)]),
  ]
}

/** Finds everything that this model does not support. */
function findModelIssues(request: AiRequest, model: CallableModel, textReading: TextReading): Issue[] {
  const { maxOutputTokens } = model.limits ?? {}
  const { tools, parameters, format } = request
  const issues = [
    ...(request.optionalParameters ? [] : findUnsupportedParameters(request, model)),
    ...findUnsupportedThinking(request, model),
  ]
  if (maxOutputTokens && (parameters.maxTokens ?? 0) > maxOutputTokens)
    issues.push(
      createIssue(['parameters', 'maxTokens'], `is more than the model answers with, which is ${maxOutputTokens}`),
    )
  if (tools.length > 0 && model.settings?.toolCalling === false)
    issues.push(createIssue(['tools'], 'is nothing that this model takes'))
  if (format && !format.schema && !request.isAdaptable && listUnsupported(model).includes('JSON without a schema'))
    issues.push(createIssue(['format', 'schema'], 'is required by this model'))
  return [
    ...issues,
    ...findForeignTools(request, model),
    ...findUnsupportedFiles(request, model, textReading),
    ...findUnknownReferences(model, request.modelTools),
    ...findNativeConflicts(request, model),
  ]
}

const nativeToolNames: Record<NativeTool, string> = {
  web_search: 'a search of the web',
  web_fetch: 'the reading of pages',
}

/** Finds tools of another provider, and the choice of a provider's tool that the model does not have. */
function findForeignTools({ tools, toolChoice }: AiRequest, model: CallableModel): Issue[] {
  const foreign = tools.flatMap(({ clientTool }, at) =>
    clientTool && model.adapter !== 'anthropic'
      ? createIssue(['tools', at, 'type'], 'is a tool of Anthropic, which this model does not know: give it a schema')
      : [],
  )
  const forced = readForcedNativeTool(toolChoice)
  if (!forced || hasNativeTool(model, forced)) return foreign
  return [...foreign, createIssue(['toolChoice'], `forces ${nativeToolNames[forced]}, and this model has none`)]
}

export function findExcessInput(tokens: number, { limits }: CallableModel): Issue[] {
  const maxInputTokens = limits?.maxInputTokens
  if (!maxInputTokens || tokens <= maxInputTokens) return []
  const message = `is more input than the model takes, which is ${maxInputTokens} tokens`
  return [{ path: ['messages'], message, reason: 'too_long' }]
}

const listUnsupported = ({ adapter }: CallableModel) => unsupportedByAdapter[adapter as Adapter]

const findUnsupportedParameters = (request: AiRequest, model: CallableModel): Issue[] =>
  Object.entries(request.parameters)
    .filter(
      ([name, value]) => value !== undefined && listUnsupported(model).some((unsupported) => unsupported === name),
    )
    .filter(([name]) => !isSetByAssistant(request, name))
    .map(([name]) => createIssue(['parameters', name], 'is nothing that this model takes'))

/** Finds thinking parameters that this provider does not support, alone or in combination. */
function findUnsupportedThinking({ parameters, toolChoice }: AiRequest, { adapter }: CallableModel): Issue[] {
  const { thoughts = 'auto', stop, seed, maxThinkingTokens } = parameters
  const isOpenAi = adapter === 'openai'
  const usesOlderApi = stop !== undefined || seed !== undefined
  return [
    ...(thoughts !== 'auto' && !isOpenAi
      ? [createIssue(['parameters', 'thoughts'], 'is taken as auto only by this model')]
      : []),
    ...(parameters.thoughts && isOpenAi && usesOlderApi
      ? [createIssue(['parameters', 'thoughts'], 'cannot be set beside stop or seed')]
      : []),
    ...(maxThinkingTokens !== undefined && adapter === 'anthropic' && isToolCallRequired(toolChoice)
      ? [createIssue(['parameters', 'maxThinkingTokens'], 'cannot be set where a tool must be called')]
      : []),
  ]
}

type Path = Issue['path']

interface ToolPairs {
  /** Calls without a result. */
  pendingCalls: Map<string, Path>
  /** Calls that the person approved or refused; they may have a result afterwards. */
  decidedCalls: Set<string>
}

/** Finds tool calls without a result and results without a call, which no provider accepts. */
function findUnpairedTools(messages: readonly RequestMessage[]): Issue[] {
  const pairs: ToolPairs = { pendingCalls: new Map(), decidedCalls: new Set() }
  const strayPaths: Path[] = []
  for (const { part, turn, path } of listToolParts(messages)) {
    const call = `${turn} ${part.id}`
    if (part.type === 'tool-call') pairs.pendingCalls.set(call, path)
    else if (!isPaired(part, call, pairs)) strayPaths.push([...path, 'id'])
  }
  return [
    ...strayPaths.map((path) => ({ path, message: 'answers no call before it' })),
    ...[...pairs.pendingCalls.values()].map((path) => ({ path, message: 'has no result' })),
  ]
}

function isPaired(
  { type }: ToolResult | ToolApproval,
  call: string,
  { pendingCalls, decidedCalls }: ToolPairs,
): boolean {
  if (type === 'tool-result') return pendingCalls.delete(call) || decidedCalls.delete(call)
  const isOpen = pendingCalls.delete(call)
  if (isOpen) decidedCalls.add(call)
  return isOpen
}

/** Yields tool parts with their path and turn. Results belong to the assistant message before them. */
function* listToolParts(messages: readonly RequestMessage[]) {
  let turn = -1
  for (const [at, { role, content }] of messages.entries()) {
    const continuesTurn = role === 'assistant' && messages[at - 1]?.role === 'assistant'
    if (role !== 'tool' && !continuesTurn) turn = at
    for (const [index, part] of content.entries())
      if (isToolPart(part)) yield { part, turn, path: ['messages', at, 'content', index] }
  }
}

const isToolPart = (part: RequestMessage['content'][number]): part is ToolCall | ToolResult | ToolApproval =>
  ['tool-call', 'tool-result', 'tool-approval'].includes(part.type)
