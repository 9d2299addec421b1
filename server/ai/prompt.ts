import type { LanguageModelV4Message, LanguageModelV4Prompt, LanguageModelV4ToolResultPart } from '@ai-sdk/provider'
import type { Adapter } from '../../routers/ports/ai/adapters.ts'
import type {
  AssistantPart,
  FilePart,
  InputPart,
  Message,
  StoredFilePart,
  TextPart,
  ToolResult,
  UserPart,
} from '../../routers/ports/ai/messages.ts'
import { inlineFile, preamble, sanitizeParts, toProviderOptions, withoutMarks, writeSkipped } from './sanitize-parts.ts'
import type { StoredFiles } from './stored-files.ts'

interface Sending {
  /** The kind of provider that it is for. */
  adapter: string
  files: StoredFiles
}

/** A conversation in the terms of the AI SDK: instructions first, and no role twice in a row, as some providers have it. */
export function toPrompt(messages: readonly Message[], sending: Sending): LanguageModelV4Prompt {
  const isSystem = ({ role }: Message) => role === 'system'
  const said = messages.filter((message) => !isSystem(message) && !isSilent(message))
  const system = messages.filter((message) => isSystem(message) && !isSilent(message))
  const { adapter } = sending
  const all = said.length > 0 || !needsUser.has(adapter) ? [...system, ...said] : system.map(asUser)
  const turns = inTurns(all)
  const sent = takesNoFilesInResults.has(adapter) ? inTurns(turns.flatMap(withFilesBehind)) : turns
  const prompt = sent.map((turn) => asPrompt(turn, sending))
  return hasBlocks(messages) ? explainPart(prompt) : prompt
}

/** Providers that answer to nothing but what a user says. */
const needsUser: ReadonlySet<string> = new Set<Adapter>(['anthropic', 'google', 'mistral'])

const asUser = ({ content }: Message): Message => ({ role: 'user', content: content as readonly TextPart[] })

/** Most providers refuse empty texts. What a user says stays, as it wants an answer. */
const isSilent = ({ role, content }: Message) => role !== 'user' && role !== 'tool' && content.every(isEmptyText)

const isEmptyText = (part: Part) => part.type === 'text' && part.text === ''

function inTurns(messages: readonly Message[]): Message[] {
  const turns: Message[] = []
  for (const message of messages) {
    const last = turns.at(-1)
    if (last?.role === message.role) turns[turns.length - 1] = mergeTurns(last, message)
    else turns.push(message)
  }
  return turns
}

/** Servers of this protocol take the results of tools as texts alone, so the user shows the files behind them. */
const takesNoFilesInResults: ReadonlySet<string> = new Set<Adapter>(['openai-compatible', 'open_web_ui', 'mistral'])

function withFilesBehind(turn: Message): Message[] {
  if (turn.role !== 'tool') return [turn]
  const isShown = (part: InputPart) => part.type === 'file' && !isInlined(part.mime)
  const shown = turn.content.filter(({ content }) => content.some(isShown))
  if (shown.length === 0) return [turn]
  const results = turn.content.map((result) =>
    shown.includes(result)
      ? { ...result, content: [...result.content.filter((part) => !isShown(part)), seeBelow] }
      : result,
  )
  const files = shown.flatMap(({ name, content }): InputPart[] => [
    { type: 'text', text: `What the tool ${name} returned:` },
    ...content.filter(isShown),
  ])
  return [
    { role: 'tool', content: results },
    { role: 'user', content: files },
  ]
}

const seeBelow: TextPart = { type: 'text', text: 'The result has files, which the next message shows.' }

/** The prompt with a word about blocks before everything else. */
function explainPart([first, ...rest]: LanguageModelV4Prompt): LanguageModelV4Prompt {
  if (first?.role === 'system') return [{ ...first, content: `${preamble}\n\n${first.content}` }, ...rest]
  return [{ role: 'system', content: preamble }, ...(first ? [first] : []), ...rest]
}

type Part = Message['content'][number]

/** Two texts that meet become one, with a line between them. */
function mergeTurns({ role, content }: Message, { content: more }: Message): Message {
  const [end, start] = [content.at(-1), more[0]]
  const parts: Part[] =
    end?.type === 'text' && start?.type === 'text'
      ? [...content.slice(0, -1), { type: 'text', text: `${end.text}\n\n${start.text}` }, ...more.slice(1)]
      : [...content, ...more]
  return { role, content: parts } as Message
}

function asPrompt(message: Message, { adapter, files }: Sending): LanguageModelV4Message {
  switch (message.role) {
    case 'system':
      return { role: 'system', content: withoutMarks(message.content.map(({ text }) => text).join('\n\n')) }
    case 'user':
      return { role: 'user', content: withoutEmpty(message.content).map((part) => asSent(part, files)) }
    case 'assistant':
      return {
        role: 'assistant',
        content: withoutEmpty(message.content).map((part) => sanitizeParts(asSaid(part), adapter)),
      }
    case 'tool':
      return { role: 'tool', content: message.content.map(asResult) }
  }
}

/** The parts that say something; an empty text alone stays. */
function withoutEmpty<P extends Part>(parts: readonly P[]): readonly P[] {
  const kept = parts.filter((part) => !isEmptyText(part))
  return kept.length > 0 ? kept : parts.slice(0, 1)
}

function asSent(part: UserPart, files: StoredFiles) {
  if (part.type === 'skipped') return { type: 'text' as const, text: writeSkipped(part.name, part.reason) }
  return part.type === 'stored-file' ? toFilePart(part, files.wordFor(part.content)) : asInput(part)
}

const asInput = (part: InputPart) => (part.type === 'text' ? sanitizeTexts(part) : asFile(part))

const sanitizeTexts = ({ text }: TextPart) => ({ type: 'text' as const, text: withoutMarks(text) })

const isInlined = (mime: string) => !mime.startsWith('image/') && mime !== 'application/pdf'

/** Whether the service writes something into a message of its own: the text of a file, or that one is not given. */
const hasBlocks = (messages: readonly Message[]): boolean =>
  messages.some(({ content }) =>
    content
      .flatMap((part: Part): readonly Part[] => (part.type === 'tool-result' ? part.content : [part]))
      .some((part) => part.type === 'skipped' || (part.type === 'file' && isInlined(part.mime))),
  )

/** A document that is text is read as such by every model. */
function asFile(part: FilePart) {
  const { mime, data, name } = part
  if (!isInlined(mime)) return toFilePart(part, data)
  return { type: 'text' as const, text: inlineFile(Buffer.from(data, 'base64').toString(), mime, name) }
}

const toFilePart = ({ mime, name }: FilePart | StoredFilePart, data: string) => ({
  type: 'file' as const,
  mediaType: mime,
  data: { type: 'data' as const, data },
  ...(name !== undefined && { filename: withoutMarks(name) }),
})

/** Calls have their arguments as text. */
function asSaid(part: AssistantPart) {
  if (part.type === 'text') return { type: 'text' as const, text: part.text }
  const providerOptions = toProviderOptions(part.signature)
  if (part.type === 'reasoning') return { type: 'reasoning' as const, text: part.text, providerOptions }
  const { id, name: toolName, input } = part
  return { type: 'tool-call' as const, toolCallId: withoutMarks(id), toolName, input, providerOptions }
}

/** Only results that are text alone can say otherwise that they are errors. */
const toFailedResult = { type: 'text' as const, text: 'The tool failed:' }

/** Providers refuse an empty text beside a file. */
const isSaid = (part: InputPart) => part.type !== 'text' || part.text !== ''

function asResult({ id, name, content, isError }: ToolResult): LanguageModelV4ToolResultPart {
  const texts = content.flatMap((part) => (part.type === 'text' ? withoutMarks(part.text) : []))
  const output: LanguageModelV4ToolResultPart['output'] =
    texts.length < content.length
      ? { type: 'content', value: [...(isError ? [toFailedResult] : []), ...content.filter(isSaid).map(asInput)] }
      : { type: isError ? 'error-text' : 'text', value: texts.join('\n\n') }
  return { type: 'tool-result', toolCallId: withoutMarks(id), toolName: name, output }
}
