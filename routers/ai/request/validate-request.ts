import type { Issue } from '../../core/problems.ts'
import { type Adapter, unsupportedByAdapter } from '../../ports/ai/adapters.ts'
import type { ToolCall, ToolResult } from '../../ports/ai/messages.ts'
import type { CallableModel } from '../../ports/ai/models.ts'
import { isToolCallRequired } from '../../ports/ai/tools.ts'
import { findNativeConflicts } from './adapt-request.ts'
import { type TextReading, unsupportedFiles } from './file-support.ts'
import type { ApprovalGiven } from './parts.ts'
import type { AiRequest, AskedMessage } from './request.ts'
import { unknownReferences } from './tool-references.ts'

/** What is wrong with a request that its schema cannot know; `inputTokens` is our estimate of what it takes. */
export function validateRequest(
  request: AiRequest,
  model: CallableModel | undefined,
  inputTokens: number,
  reading: TextReading = {},
): Issue[] {
  const { messages } = request
  return [
    ...(model ? [] : [issue(['model'], 'is not a model that you may use')]),
    ...(request.isAdaptable || endsWell(messages) ? [] : [issue(['messages'], 'must end with a message of the user')]),
    ...findUnpairedTools(messages),
    ...unknownChoice(request),
    ...contradictions(request),
    ...(model ? [...problemsWith(request, model, reading), ...tooMuchInput(inputTokens, model)] : []),
  ]
}

const issue = (path: Path, message: string): Issue => ({ path, message })

const endsWell = (messages: readonly AskedMessage[]) => ['user', 'tool'].includes(messages.at(-1)?.role ?? '')

function unknownChoice({ tools, toolChoice }: AiRequest): Issue[] {
  if (toolChoice === 'required' && tools.length === 0) return [issue(['toolChoice'], 'needs tools')]
  const isUnknown = typeof toolChoice === 'object' && tools.every(({ name }) => name !== toolChoice.name)
  return isUnknown ? [issue(['toolChoice'], 'is no tool of this request')] : []
}

function contradictions({ parameters: { effort, thinking, maxThinkingTokens } }: AiRequest): Issue[] {
  if (effort !== 'none') return []
  const message = 'cannot be set where nothing is to be thought'
  return [
    ...(maxThinkingTokens === undefined ? [] : [issue(['parameters', 'maxThinkingTokens'], message)]),
    ...(thinking === undefined ? [] : [issue(['parameters', 'thinking'], message)]),
  ]
}

/** What this model does not take. */
function problemsWith(request: AiRequest, model: CallableModel, reading: TextReading): Issue[] {
  const { maxOutputTokens } = model.limits ?? {}
  const { tools, parameters, format } = request
  const issues = [
    ...unsupportedFiles(request, model, reading),
    ...(request.optionalParameters ? [] : unsupportedParameters(request, model)),
    ...unsupportedThoughts(request, model),
  ]
  issues.push(...unknownReferences(model, request.modelTools), ...findNativeConflicts(request, model))
  if (maxOutputTokens && (parameters.maxTokens ?? 0) > maxOutputTokens)
    issues.push(issue(['parameters', 'maxTokens'], `is more than the model answers with, which is ${maxOutputTokens}`))
  if (tools.length > 0 && model.settings?.toolCalling === false)
    issues.push(issue(['tools'], 'is nothing that this model takes'))
  if (format && !format.schema && untakenOf(model).includes('JSON without a schema'))
    issues.push(issue(['format', 'schema'], 'is required by this model'))
  return issues
}

export function tooMuchInput(tokens: number, { limits }: CallableModel): Issue[] {
  const most = limits?.maxInputTokens
  if (!most || tokens <= most) return []
  const message = `is more input than the model takes, which is ${most} tokens`
  return [{ path: ['messages'], message, reason: 'too_long' }]
}

const untakenOf = ({ adapter }: CallableModel) => unsupportedByAdapter[adapter as Adapter]

const unsupportedParameters = ({ parameters }: AiRequest, model: CallableModel): Issue[] =>
  Object.entries(parameters)
    .filter(([name, value]) => value !== undefined && untakenOf(model).some((untaken) => untaken === name))
    .map(([name]) => issue(['parameters', name], 'is nothing that this model takes'))

/** What of thinking this kind of provider has no word for, or not together with something else. */
function unsupportedThoughts({ parameters, toolChoice }: AiRequest, { adapter }: CallableModel): Issue[] {
  const { thoughts = 'auto', stop, seed, maxThinkingTokens } = parameters
  const isOpenAi = adapter === 'openai'
  const isOlder = stop !== undefined || seed !== undefined
  return [
    ...(thoughts !== 'auto' && !isOpenAi
      ? [issue(['parameters', 'thoughts'], 'is taken as auto only by this model')]
      : []),
    ...(parameters.thoughts && isOpenAi && isOlder
      ? [issue(['parameters', 'thoughts'], 'cannot be set beside stop or seed')]
      : []),
    ...(maxThinkingTokens !== undefined && adapter === 'anthropic' && isToolCallRequired(toolChoice)
      ? [issue(['parameters', 'maxThinkingTokens'], 'cannot be set where a tool must be called')]
      : []),
  ]
}

type Path = Issue['path']

interface Pairs {
  /** Calls without a result yet. */
  open: Map<string, Path>
  /** Calls that the person allowed or refused, which have no result or one after that. */
  answered: Set<string>
}

/** Calls of tools without a result, and results without a call: no provider takes either. */
function findUnpairedTools(messages: readonly AskedMessage[]): Issue[] {
  const pairs: Pairs = { open: new Map(), answered: new Set() }
  const stray: Path[] = []
  for (const { part, talk, path } of listToolParts(messages)) {
    const call = `${talk} ${part.id}`
    if (part.type === 'tool-call') pairs.open.set(call, path)
    else if (!isPaired(part, call, pairs)) stray.push([...path, 'id'])
  }
  return [
    ...stray.map((path) => ({ path, message: 'answers no call before it' })),
    ...[...pairs.open.values()].map((path) => ({ path, message: 'has no result' })),
  ]
}

function isPaired({ type }: ToolResult | ApprovalGiven, call: string, { open, answered }: Pairs): boolean {
  if (type === 'tool-result') return open.delete(call) || answered.delete(call)
  const isOpen = open.delete(call)
  if (isOpen) answered.add(call)
  return isOpen
}

/** What is said of tools with its path, and which turn it belongs to: results belong to what the assistant said before them. */
function* listToolParts(messages: readonly AskedMessage[]) {
  let talk = -1
  for (const [at, { role, content }] of messages.entries()) {
    const goesOn = role === 'assistant' && messages[at - 1]?.role === 'assistant'
    if (role !== 'tool' && !goesOn) talk = at
    for (const [index, part] of content.entries())
      if (isOfTool(part)) yield { part, talk, path: ['messages', at, 'content', index] }
  }
}

const isOfTool = (part: AskedMessage['content'][number]): part is ToolCall | ToolResult | ApprovalGiven =>
  ['tool-call', 'tool-result', 'tool-approval'].includes(part.type)
