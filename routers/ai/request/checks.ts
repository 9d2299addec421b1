import type { Issue } from '../../core/problems.ts'
import { type Adapter, untaken } from '../../ports/ai/adapters.ts'
import type { CallableModel } from '../../ports/ai/models.ts'
import { mustCall } from '../../ports/ai/tools.ts'
import { besideNative } from './beside-native.ts'
import { isPlainText } from './parts.ts'
import { unknownReferences } from './references.ts'
import type { AiRequest, AskedMessage } from './request.ts'
import { unpairedTools } from './tool-pairs.ts'

interface Reading {
  /** Whether documents of a type can be read, to be given as text to a model that takes none; none can where it is not set. */
  mayRead?(mime: string): boolean
}

/** What is wrong with a request that its schema cannot know; `inputTokens` is our estimate of what it takes. */
export function problemsOf(
  request: AiRequest,
  model: CallableModel | undefined,
  inputTokens: number,
  reading: Reading = {},
): Issue[] {
  const { messages } = request
  return [
    ...(model ? [] : [issue(['model'], 'is not a model that you may use')]),
    ...(request.isAdaptable || endsWell(messages) ? [] : [issue(['messages'], 'must end with a message of the user')]),
    ...unpairedTools(messages),
    ...unknownChoice(request),
    ...contradictions(request),
    ...(model ? [...problemsWith(request, model, reading), ...tooMuchInput(inputTokens, model)] : []),
  ]
}

type Path = Issue['path']

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
function problemsWith(request: AiRequest, model: CallableModel, reading: Reading): Issue[] {
  const { maxOutputTokens } = model.limits ?? {}
  const { tools, parameters, format } = request
  const issues = [
    ...untakenFiles(request, model, reading),
    ...(request.optionalParameters ? [] : untakenParameters(request, model)),
    ...untakenThoughts(request, model),
  ]
  issues.push(...unknownReferences(model, request.modelTools), ...besideNative(request, model))
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

const untakenOf = ({ adapter }: CallableModel) => untaken[adapter as Adapter]

const untakenParameters = ({ parameters }: AiRequest, model: CallableModel): Issue[] =>
  Object.entries(parameters)
    .filter(([name, value]) => value !== undefined && untakenOf(model).some((untaken) => untaken === name))
    .map(([name]) => issue(['parameters', name], 'is nothing that this model takes'))

/** What of thinking this kind of provider has no word for, or not together with something else. */
function untakenThoughts({ parameters, toolChoice }: AiRequest, { adapter }: CallableModel): Issue[] {
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
    ...(maxThinkingTokens !== undefined && adapter === 'anthropic' && mustCall(toolChoice)
      ? [issue(['parameters', 'maxThinkingTokens'], 'cannot be set where a tool must be called')]
      : []),
  ]
}

function untakenFiles({ messages }: AiRequest, model: CallableModel, { mayRead = () => false }: Reading): Issue[] {
  const untakenPart = (part: AskedMessage['content'][number], path: Path): Issue[] => {
    if (part.type === 'tool-result')
      return part.content.flatMap((inner, index) => untakenPart(inner, [...path, 'content', index]))
    if (part.type !== 'file' && part.type !== 'stored-file') return []
    const isRead = model.settings?.fileUpload !== false && isDocumentUntaken(part.mime, model) && mayRead(part.mime)
    return isRead ? [] : untakenFile(part, model, path)
  }
  return messages.flatMap(({ content }, at) =>
    content.flatMap((part, index) => untakenPart(part, ['messages', at, 'content', index])),
  )
}

export const NO_FILES = 'is a file, and this model takes none'

export function untakenFile({ mime }: { mime: string }, model: CallableModel, path: Path): Issue[] {
  if (model.settings?.fileUpload === false) return [issue(path, NO_FILES)]
  if (isPlainText(mime)) return []
  if (mime.startsWith('image/'))
    return model.input.includes('image') ? [] : [issue(path, 'is an image, which this model does not take')]
  if (mime === PDF)
    return isDocumentUntaken(mime, model) ? [issue(path, 'is a document, which this model does not take')] : []
  return [issue([...path, 'mime'], 'is no type of file that can be read')]
}

const PDF = 'application/pdf'

/** Documents other than PDFs are taken by no model. */
export const isDocumentUntaken = (mime: string, model: CallableModel): boolean =>
  !mime.startsWith('image/') && !isPlainText(mime) && (mime !== PDF || untakenOf(model).includes('documents'))
