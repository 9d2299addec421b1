import type { Issue } from '../../routers/core/problems.ts'
import { detectMediaType } from '../../routers/ports/ai/media-types.ts'
import type {
  AssistantPart,
  FilePart,
  InputPart,
  Message,
  TextPart,
  ToolResult,
} from '../../routers/ports/ai/messages.ts'
import { isServiceSignature, toRedactedThought } from '../../routers/ports/ai/signatures.ts'
import { INVALID_ARGUMENTS, parseArguments } from '../../routers/ports/ai/tool-calls.ts'
import { findCacheMark, readCacheMark, withCacheMark } from '../ai/cache-control.ts'
import type {
  AssistantBlock,
  InputBlock,
  MessageOnWire,
  SystemBlock,
  ToolResultBlock,
  UserBlock,
} from './messages-blocks.ts'

/** A part of a message with the index of its block on the wire. */
interface PartWithBlock<Part> {
  part: Part
  block: number
}

/** The origin of a message: the index of the message on the wire, and of the block of each part. */
interface MessageOrigin {
  message: number
  blocks: number[]
}

/**
 * Converts a conversation to the messages of the service. Tool results become separate messages, so the origin of each
 * message is kept.
 */
export class Conversation {
  readonly messages: Message[] = []
  readonly #onWire: readonly MessageOnWire[]
  readonly #origins: MessageOrigin[] = []
  readonly #toolNames = new Map<string, string>()

  constructor(messages: readonly MessageOnWire[]) {
    this.#onWire = messages
    for (const [at, { role, content }] of messages.entries()) {
      if (role === 'assistant') this.#add(at, 'assistant', ensureNotEmpty(this.#toAssistantParts(content)))
      else if (role === 'system') this.#add(at, 'system', ensureNotEmpty(toTextParts(content ?? [])))
      else this.#addUserMessage(at, content.entries().toArray())
    }
  }

  /** Maps a path in our messages to the messages on the wire. */
  mapPath = (path: Issue['path']): Issue['path'] => {
    const [root, at, content, part, ...rest] = path
    const origin = root === 'messages' && typeof at === 'number' ? this.#origins[at] : undefined
    if (!origin) return path
    const block = content === 'content' && typeof part === 'number' ? origin.blocks[part] : undefined
    return [
      'messages',
      origin.message,
      ...(content === undefined ? [] : [content]),
      ...(block === undefined ? [] : [block, ...mapBlockPath(this.#onWire[origin.message]?.content?.[block], rest)]),
    ]
  }

  #add<Part>(message: number, role: Message['role'], parts: readonly PartWithBlock<Part>[]): void {
    this.messages.push({ role, content: parts.map(({ part }) => part) } as Message)
    this.#origins.push({ message, blocks: parts.map(({ block }) => block) })
  }

  /** Adds a user message; tool results come first, because they answer the previous message. */
  #addUserMessage(at: number, blocks: [number, UserBlock][]): void {
    const results = blocks.flatMap(([index, block]) =>
      block.type === 'tool_result' ? [{ block: index, part: this.#toToolResult(block) }] : [],
    )
    const input = blocks.flatMap(([index, block]) =>
      withCacheMark(block, toInputParts(block)).map((part) => ({ block: index, part })),
    )
    if (results.length > 0) this.#add(at, 'tool', results)
    if (input.length > 0 || results.length === 0) this.#add(at, 'user', ensureNotEmpty(input))
  }

  /** Converts a tool result; one without its call is refused later. */
  #toToolResult = (block: ToolResultBlock): ToolResult => {
    const { tool_use_id: id, content, is_error: isError } = block
    return {
      type: 'tool-result',
      id,
      name: this.#toolNames.get(id) ?? 'unknown',
      content: (content ?? []).flatMap(toInputParts),
      ...(isError && { isError }),
      ...findCacheMark([block, ...(content ?? [])]),
    }
  }

  /** Converts the blocks of an assistant. Consecutive texts are joined, because they were split at citations. */
  #toAssistantParts(blocks: readonly AssistantBlock[]): PartWithBlock<AssistantPart>[] {
    const parts: PartWithBlock<AssistantPart>[] = []
    for (const [index, block] of blocks.entries()) {
      if (block.type === 'tool_use') this.#toolNames.set(block.id, block.name)
      const last = parts.at(-1)?.part
      if (block.type === 'text' && last?.type === 'text')
        Object.assign(last, { text: last.text + block.text }, readCacheMark(block))
      else if (!isSignatureBlock(block) || blocks[index + 1]?.type !== 'tool_use')
        parts.push(
          ...withCacheMark(block, toAssistantParts(block, blocks[index - 1])).map((part) => ({ block: index, part })),
        )
    }
    return parts
  }
}

/** True for the signature of the tool call behind it, which the service has written. */
const isSignatureBlock = (block: AssistantBlock | undefined) =>
  block?.type === 'redacted_thinking' && isServiceSignature(block.data)

const toTextParts = (blocks: readonly SystemBlock[]): PartWithBlock<TextPart>[] =>
  blocks.flatMap((one, block) =>
    one.type === 'text' ? { part: { ...toTextPart(one.text), ...readCacheMark(one) }, block } : [],
  )

const fileMembers = { data: ['source', 'data'], mime: ['source', 'media_type'], name: ['title'] }

/** The names of part members in blocks, where they differ. */
const members: Partial<Record<string, Partial<Record<string, readonly string[]>>>> = {
  tool_result: { id: ['tool_use_id'] },
  thinking: { text: ['thinking'] },
  image: fileMembers,
  document: fileMembers,
}

function mapBlockPath(
  block: NonNullable<MessageOnWire['content']>[number] | undefined,
  [member, ...rest]: Issue['path'],
): Issue['path'] {
  if (member === undefined) return []
  return [...(members[block?.type ?? '']?.[member] ?? [member]), ...rest]
}

const toTextPart = (text: string) => ({ type: 'text' as const, text })

/** Replaces an empty message by one with an empty text. */
const ensureNotEmpty = <Part>(parts: PartWithBlock<Part>[]): PartWithBlock<Part | TextPart>[] =>
  parts.length > 0 ? parts : [{ part: toTextPart(''), block: 0 }]

function toAssistantParts(block: AssistantBlock, before: AssistantBlock | undefined): AssistantPart[] {
  switch (block.type) {
    case 'text':
      return [toTextPart(block.text)]
    case 'thinking':
      return [{ type: 'reasoning', text: block.thinking, ...(block.signature && { signature: block.signature }) }]
    case 'redacted_thinking':
      return [{ type: 'reasoning', text: '', signature: toRedactedThought(block.data) }]
    case 'compaction':
      return [toTextPart(block.content ?? '')]
    case 'tool_use': {
      const signature = before?.type === 'redacted_thinking' && isSignatureBlock(before) ? before.data : undefined
      const { id, name, input } = block
      return [{ type: 'tool-call', id, name, input: fromInput(input ?? {}), ...(signature && { signature }) }]
    }
    default:
      return []
  }
}

function toInputParts(block: InputBlock | UserBlock): InputPart[] {
  switch (block.type) {
    case 'text':
      return [toTextPart(block.text)]
    case 'tool_reference':
      return [toTextPart(block.tool_name)]
    case 'search_result':
      return [toTextFile(joinTexts(block.content), `${block.title} (${block.source})`)]
    case 'image':
      return [toFilePart(block.source)]
    case 'document':
      return [toDocumentPart(block)]
    default:
      return []
  }
}

const toFilePart = ({ media_type, data }: { media_type: string; data: string }, name?: string): FilePart => ({
  type: 'file',
  mime: detectMediaType(media_type, data, name),
  data,
})

/** Converts a document; its context precedes the text, and is omitted for binary files. */
function toDocumentPart({ source, title, context }: Extract<InputBlock, { type: 'document' }>): FilePart {
  const name = title || undefined
  if (source.type === 'base64') return { ...toFilePart(source, name), ...(name && { name }) }
  const text = source.type === 'text' ? source.data : joinTexts(source.content)
  return toTextFile([context, text].filter(Boolean).join('\n\n'), name)
}

const joinTexts = (blocks: readonly { text: string }[]) => blocks.map(({ text }) => text).join('\n\n')

const toTextFile = (text: string, name?: string): FilePart => ({
  type: 'file',
  mime: 'text/plain',
  data: Buffer.from(text).toString('base64'),
  ...(name && { name: name.slice(0, 255) }),
})

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Returns the arguments of a call as the object that clients expect; a text that is none is a member of it. */
export function toInput(text: string): object {
  const value = parseArguments(text)
  if (isObject(value)) return value
  return value === null ? {} : { [INVALID_ARGUMENTS]: text }
}

/** Returns the arguments as JSON for a stream; the model's own JSON is kept if it is an object. */
export const toInputJson = (text: string): string =>
  isObject(parseArguments(text)) ? text : JSON.stringify(toInput(text))

/** Returns the arguments as the model wrote them, of a call that a client sends back. */
function fromInput(input: Readonly<Record<string, unknown>>): string {
  const { [INVALID_ARGUMENTS]: text, ...others } = input
  return typeof text === 'string' && Object.keys(others).length === 0 ? text : JSON.stringify(input)
}
