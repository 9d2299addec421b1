import { detectMediaType } from '../../routers/ports/ai/media-types.ts'
import type {
  AssistantPart,
  FilePart,
  InputPart,
  Message,
  TextPart,
  ToolResult,
} from '../../routers/ports/ai/messages.ts'
import { INVALID_ARGUMENTS, parseArguments } from '../../routers/ports/ai/tool-calls.ts'
import type { AssistantBlock, InputBlock, MessageOnWire, ToolResultBlock } from './messages-blocks.ts'

/** A part of a message, and which block of its content on the wire it comes from. */
interface PartWithBlock<Part> {
  part: Part
  block: number
}

/** Where a message of the service comes from: the index of the one on the wire, and of the block of each part. */
interface MessageOrigin {
  message: number
  blocks: number[]
}

/** The conversation in the terms of the service. Results of tools are messages of their own there, so it says where each comes from. */
export class Conversation {
  readonly messages: Message[] = []
  readonly #onWire: readonly MessageOnWire[]
  readonly #origins: MessageOrigin[] = []
  readonly #toolNames = new Map<string, string>()

  constructor(messages: readonly MessageOnWire[]) {
    this.#onWire = messages
    for (const [at, { role, content }] of messages.entries()) {
      if (role === 'assistant') this.#add(at, 'assistant', ensureNotEmpty(this.#toAssistantParts(content)))
      else if (role === 'system')
        this.#add(at, 'system', ensureNotEmpty(content.map(({ text }, block) => ({ part: toTextPart(text), block }))))
      else this.#addUserMessage(at, content.entries().toArray())
    }
  }

  /** A path within the messages of the service as one within those on the wire. */
  mapPath = (path: readonly (string | number)[]): readonly (string | number)[] => {
    const [root, at, content, part, ...rest] = path
    const origin = root === 'messages' && typeof at === 'number' ? this.#origins[at] : undefined
    if (!origin) return path
    const block = content === 'content' && typeof part === 'number' ? origin.blocks[part] : undefined
    return [
      'messages',
      origin.message,
      ...(content === undefined ? [] : [content]),
      ...(block === undefined ? [] : [block, ...mapBlockPath(this.#onWire[origin.message]?.content[block], rest)]),
    ]
  }

  #add<Part>(message: number, role: Message['role'], parts: readonly PartWithBlock<Part>[]): void {
    this.messages.push({ role, content: parts.map(({ part }) => part) } as Message)
    this.#origins.push({ message, blocks: parts.map(({ block }) => block) })
  }

  /** What the user says goes behind the results of tools, which answer the message before. */
  #addUserMessage(at: number, blocks: [number, InputBlock | ToolResultBlock][]): void {
    const results = blocks.flatMap(([block, said]) =>
      said.type === 'tool_result' ? [{ block, part: this.#toToolResult(said) }] : [],
    )
    const input = blocks.flatMap(([block, said]) =>
      said.type === 'tool_result' ? [] : [{ block, part: toInputPart(said) }],
    )
    if (results.length > 0) this.#add(at, 'tool', results)
    if (input.length > 0 || results.length === 0) this.#add(at, 'user', ensureNotEmpty(input))
  }

  /** A result that answers no call is refused further in, whatever it is called. */
  #toToolResult = ({ tool_use_id: id, content, is_error: isError }: ToolResultBlock): ToolResult => ({
    type: 'tool-result',
    id,
    name: this.#toolNames.get(id) ?? 'unknown',
    content: (content ?? []).map(toInputPart),
    ...(isError && { isError }),
  })

  /** Texts that follow each other are one, which was cut where it cites something. */
  #toAssistantParts(blocks: readonly AssistantBlock[]): PartWithBlock<AssistantPart>[] {
    const parts: PartWithBlock<AssistantPart>[] = []
    for (const [block, said] of blocks.entries()) {
      if (said.type === 'tool_use') this.#toolNames.set(said.id, said.name)
      const last = parts.at(-1)?.part
      if (said.type === 'text' && last?.type === 'text') last.text += said.text
      // It goes with the call that follows.
      else if (said.type !== 'redacted_thinking' || blocks[block + 1]?.type !== 'tool_use')
        parts.push(...toAssistantParts(said, blocks[block - 1]).map((part) => ({ block, part })))
    }
    return parts
  }
}

type Path = readonly (string | number)[]

const fileMembers = { data: ['source', 'data'], mime: ['source', 'media_type'], name: ['title'] }

/** What blocks call the members of the parts that they become, where it is something else. */
const members: Partial<Record<string, Partial<Record<string, readonly string[]>>>> = {
  tool_result: { id: ['tool_use_id'] },
  thinking: { text: ['thinking'] },
  image: fileMembers,
  document: fileMembers,
}

function mapBlockPath(block: MessageOnWire['content'][number] | undefined, [member, ...rest]: Path): Path {
  if (member === undefined) return []
  return [...(members[block?.type ?? '']?.[member] ?? [member]), ...rest]
}

const toTextPart = (text: string) => ({ type: 'text' as const, text })

/** A message without a part is as one with an empty text. */
const ensureNotEmpty = <Part>(parts: PartWithBlock<Part>[]): PartWithBlock<Part | TextPart>[] =>
  parts.length > 0 ? parts : [{ part: toTextPart(''), block: 0 }]

function toAssistantParts(block: AssistantBlock, before: AssistantBlock | undefined): AssistantPart[] {
  switch (block.type) {
    case 'text':
      return [toTextPart(block.text)]
    case 'thinking':
      return [{ type: 'reasoning', text: block.thinking, ...(block.signature && { signature: block.signature }) }]
    case 'redacted_thinking':
      return [{ type: 'reasoning', text: '', signature: block.data }]
    case 'tool_use': {
      const signature = before?.type === 'redacted_thinking' ? before.data : undefined
      const { id, name, input } = block
      return [{ type: 'tool-call', id, name, input: fromInput(input ?? {}), ...(signature && { signature }) }]
    }
    default:
      return []
  }
}

function toInputPart(block: InputBlock): InputPart {
  switch (block.type) {
    case 'text':
      return toTextPart(block.text)
    case 'tool_reference':
      return toTextPart(block.tool_name)
    case 'search_result':
      return toTextFile(joinTexts(block.content), `${block.title} (${block.source})`)
    case 'image':
      return toFilePart(block.source)
    case 'document':
      return toDocumentPart(block)
  }
}

const toFilePart = ({ media_type, data }: { media_type: string; data: string }, name?: string): FilePart => ({
  type: 'file',
  mime: detectMediaType(media_type, data, name),
  data,
})

/** What is said of a document goes before its text, and is no part of a file of another kind. */
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

/** Writes the same object for a stream, in the words of the model where it is one. */
export const toInputJson = (text: string): string =>
  isObject(parseArguments(text)) ? text : JSON.stringify(toInput(text))

/** Returns the arguments as the model wrote them, of a call that a client sends back. */
function fromInput(input: Readonly<Record<string, unknown>>): string {
  const { [INVALID_ARGUMENTS]: text, ...others } = input
  return typeof text === 'string' && Object.keys(others).length === 0 ? text : JSON.stringify(input)
}
