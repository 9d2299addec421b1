import type {
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4ToolResultPart,
  SharedV4ProviderOptions,
} from '@ai-sdk/provider'
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
import type { CacheMarks } from './cache-marks.ts'
import { inlineFile, preamble, sanitizeParts, splitSignature, stripMarks, writeSkipped } from './sanitize-parts.ts'
import type { StoredFiles } from './stored-files.ts'

interface PromptContext {
  /** Kind of provider that gets the prompt. */
  adapter: string
  files: StoredFiles
  marks: CacheMarks
}

/**
 * Converts a conversation to a prompt of the AI SDK, with the instructions first and consecutive messages of a role
 * merged, as some providers require.
 */
export function toPrompt(messages: readonly Message[], context: PromptContext): LanguageModelV4Prompt {
  const isSystem = ({ role }: Message) => role === 'system'
  const conversation = messages.filter((message) => !isSystem(message) && !isOmitted(message))
  const system = messages.filter((message) => isSystem(message) && !isOmitted(message))
  const { adapter, marks } = context
  const all =
    conversation.length > 0 || !userMessageAdapters.has(adapter)
      ? [...system, ...conversation]
      : system.map(toUserMessage)
  const turns = mergeConsecutive(all, marks)
  const promptTurns = textOnlyResultAdapters.has(adapter)
    ? mergeConsecutive(turns.flatMap(moveFilesToUserTurn), marks)
    : turns
  const prompt = promptTurns.flatMap((turn) => toPromptMessages(turn, context))
  return hasBlocks(messages) ? prependPreamble(prompt) : prompt
}

/** Adapters that require at least one user message. */
const userMessageAdapters: ReadonlySet<string> = new Set<Adapter>(['anthropic', 'google', 'mistral'])

const toUserMessage = ({ content }: Message): Message => ({ role: 'user', content: content as readonly TextPart[] })

/** Most providers refuse empty texts. User messages stay, because they need an answer. */
const isOmitted = ({ role, content }: Message) => role !== 'user' && role !== 'tool' && content.every(isEmptyText)

const isEmptyText = (part: Part) => part.type === 'text' && part.text === ''

function mergeConsecutive(messages: readonly Message[], marks: CacheMarks): Message[] {
  const turns: Message[] = []
  for (const message of messages) {
    const last = turns.at(-1)
    if (last?.role === message.role) turns[turns.length - 1] = mergeTurns(last, message, marks)
    else turns.push(message)
  }
  return turns
}

/** Adapters that accept only text in tool results. Files of results move to a user message behind them. */
const textOnlyResultAdapters: ReadonlySet<string> = new Set<Adapter>(['openai-compatible', 'open_web_ui', 'mistral'])

function moveFilesToUserTurn(turn: Message): Message[] {
  if (turn.role !== 'tool') return [turn]
  const isFile = (part: InputPart) => part.type === 'file' && !isInlined(part.mime)
  const withFiles = turn.content.filter(({ content }) => content.some(isFile))
  if (withFiles.length === 0) return [turn]
  const results = turn.content.map((result) =>
    withFiles.includes(result)
      ? { ...result, content: [...result.content.filter((part) => !isFile(part)), seeBelow] }
      : result,
  )
  const files = withFiles.flatMap(({ name, content }): InputPart[] => [
    { type: 'text', text: `What the tool ${name} returned:` },
    ...content.filter(isFile),
  ])
  return [
    { role: 'tool', content: results },
    { role: 'user', content: files },
  ]
}

const seeBelow: TextPart = { type: 'text', text: 'The result has files, which the next message shows.' }

/** Puts the explanation of our blocks before everything else. */
function prependPreamble([first, ...rest]: LanguageModelV4Prompt): LanguageModelV4Prompt {
  if (first?.role === 'system') return [{ ...first, content: `${preamble}\n\n${first.content}` }, ...rest]
  return [{ role: 'system', content: preamble }, ...(first ? [first] : []), ...rest]
}

type Part = Message['content'][number]

/** Merges two messages and joins adjacent texts with a blank line, unless the cache of the provider ends between them. */
function mergeTurns({ role, content }: Message, { content: more }: Message, marks: CacheMarks): Message {
  const [end, start] = [content.at(-1), more[0]]
  const parts: Part[] =
    end?.type === 'text' && start?.type === 'text' && !(marks.isUsed && (end.cache || start.cache))
      ? [...content.slice(0, -1), { type: 'text', text: `${end.text}\n\n${start.text}` }, ...more.slice(1)]
      : [...content, ...more]
  return { role, content: parts } as Message
}

function toPromptMessages(message: Message, { adapter, files, marks }: PromptContext): LanguageModelV4Message[] {
  switch (message.role) {
    case 'system':
      return toSystemMessages(message.content, marks)
    case 'user':
      return [
        {
          role: 'user',
          content: dropEmptyTexts(message.content).map((part) => withMark(toUserPart(part, files), part, marks)),
        },
      ]
    case 'assistant':
      return [
        {
          role: 'assistant',
          content: dropEmptyTexts(message.content).map((part) =>
            withMark(sanitizeParts(toAssistantPart(part), adapter), part, marks),
          ),
        },
      ]
    case 'tool':
      return [{ role: 'tool', content: message.content.map((part) => withMark(toToolResultPart(part), part, marks)) }]
  }
}

/** Joins the instructions up to each cache mark. */
function toSystemMessages(content: readonly TextPart[], marks: CacheMarks): LanguageModelV4Message[] {
  const messages: LanguageModelV4Message[] = []
  let texts: string[] = []
  for (const [index, part] of content.entries()) {
    texts.push(part.text)
    const providerOptions = marks.toOptions(part)
    if (!providerOptions && index < content.length - 1) continue
    messages.push({
      role: 'system',
      content: stripMarks(texts.join('\n\n')),
      ...(providerOptions && { providerOptions }),
    })
    texts = []
  }
  return messages
}

/** Adds the cache mark of a part to its options. */
function withMark<P extends object>(
  converted: P & { providerOptions?: SharedV4ProviderOptions },
  part: Part,
  marks: CacheMarks,
): P & { providerOptions?: SharedV4ProviderOptions } {
  const mark = 'cache' in part ? marks.toOptions(part) : undefined
  if (!mark) return converted
  const { providerOptions } = converted
  const anthropic = { ...providerOptions?.['anthropic'], ...mark['anthropic'] }
  return { ...converted, providerOptions: { ...providerOptions, anthropic } }
}

/** Drops empty texts, but keeps one if nothing else is left. */
function dropEmptyTexts<P extends Part>(parts: readonly P[]): readonly P[] {
  const nonEmpty = parts.filter((part) => !isEmptyText(part))
  return nonEmpty.length > 0 ? nonEmpty : parts.slice(0, 1)
}

function toUserPart(part: UserPart, files: StoredFiles) {
  if (part.type === 'skipped') return { type: 'text' as const, text: writeSkipped(part.name, part.reason) }
  return part.type === 'stored-file' ? toFilePart(part, files.createPlaceholder(part.content)) : toInputPart(part)
}

const toInputPart = (part: InputPart) => (part.type === 'text' ? toTextPart(part) : toFileOrTextPart(part))

const toTextPart = ({ text }: TextPart) => ({ type: 'text' as const, text: stripMarks(text) })

const isInlined = (mime: string) => !mime.startsWith('image/') && mime !== 'application/pdf'

/** True if we write a block into a message: the text of a file, or a note about a file that was left out. */
const hasBlocks = (messages: readonly Message[]): boolean =>
  messages.some(({ content }) =>
    content
      .flatMap((part: Part): readonly Part[] => (part.type === 'tool-result' ? part.content : [part]))
      .some((part) => part.type === 'skipped' || (part.type === 'file' && isInlined(part.mime))),
  )

/** Writes a text file into the message, since every model can read it there. */
function toFileOrTextPart(part: FilePart) {
  const { mime, data, name } = part
  if (!isInlined(mime)) return toFilePart(part, data)
  return { type: 'text' as const, text: inlineFile(Buffer.from(data, 'base64').toString(), mime, name) }
}

const toFilePart = ({ mime, name }: FilePart | StoredFilePart, data: string) => ({
  type: 'file' as const,
  mediaType: mime,
  data: { type: 'data' as const, data },
  ...(name !== undefined && { filename: stripMarks(name) }),
})

/** The arguments of tool calls stay text. */
function toAssistantPart(part: AssistantPart) {
  if (part.type === 'text') return { type: 'text' as const, text: part.text }
  const providerOptions = splitSignature(part.signature)
  if (part.type === 'reasoning') return { type: 'reasoning' as const, text: part.text, providerOptions }
  const { id, name: toolName, input } = part
  return { type: 'tool-call' as const, toolCallId: stripMarks(id), toolName, input, providerOptions }
}

/** Only results that are plain text can be marked as errors, so this text marks the others. */
const failurePrefix = { type: 'text' as const, text: 'The tool failed:' }

/** Providers refuse an empty text beside a file. */
const hasContent = (part: InputPart) => part.type !== 'text' || part.text !== ''

function toToolResultPart({ id, name, content, isError }: ToolResult): LanguageModelV4ToolResultPart {
  const texts = content.flatMap((part) => (part.type === 'text' ? stripMarks(part.text) : []))
  const output: LanguageModelV4ToolResultPart['output'] =
    texts.length < content.length
      ? {
          type: 'content',
          value: [...(isError ? [failurePrefix] : []), ...content.filter(hasContent).map(toInputPart)],
        }
      : { type: isError ? 'error-text' : 'text', value: texts.join('\n\n') }
  return { type: 'tool-result', toolCallId: stripMarks(id), toolName: name, output }
}
