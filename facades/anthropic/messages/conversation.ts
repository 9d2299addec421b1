import type { AssistantPart, FilePart, InputPart, Message, ToolResult } from '../../../routers/ports/ai/messages.ts'
import type { AssistantBlock, InputBlock, MessageOnWire, ToolResultBlock } from './blocks.ts'

/** A part of a message, and which block of its content on the wire it comes from. */
interface Placed<Part> {
  part: Part
  block: number
}

/** Where a message of the service comes from: the index of the one on the wire, and of the block of each part. */
interface Place {
  message: number
  blocks: number[]
}

/** The conversation in the terms of the service. Results of tools are messages of their own there, so it says where each comes from. */
export class Conversation {
  readonly messages: Message[] = []
  readonly #places: Place[] = []
  readonly #toolNames = new Map<string, string>()

  constructor(messages: readonly MessageOnWire[]) {
    for (const [at, { role, content }] of messages.entries()) {
      if (role === 'assistant') this.#add(at, 'assistant', this.#saidIn(content))
      else this.#hear(at, content.entries().toArray())
    }
  }

  /** A path within the messages of the service as one within those on the wire. */
  placeOf = (path: readonly (string | number)[]): readonly (string | number)[] => {
    const [root, at, content, part, ...rest] = path
    const place = root === 'messages' && typeof at === 'number' ? this.#places[at] : undefined
    if (!place) return path
    const block = content === 'content' && typeof part === 'number' ? place.blocks[part] : undefined
    return [
      'messages',
      place.message,
      ...(content === undefined ? [] : [content]),
      ...(block === undefined ? [] : [block, ...rest]),
    ]
  }

  #add<Part>(message: number, role: Message['role'], placed: readonly Placed<Part>[]): void {
    this.messages.push({ role, content: placed.map(({ part }) => part) } as Message)
    this.#places.push({ message, blocks: placed.map(({ block }) => block) })
  }

  /** What the user says goes behind the results of tools, which answer the message before. */
  #hear(at: number, blocks: [number, InputBlock | ToolResultBlock][]): void {
    const results = blocks.flatMap(([block, said]) =>
      said.type === 'tool_result' ? [{ block, part: this.#resultIn(said) }] : [],
    )
    const input = blocks.flatMap(([block, said]) =>
      said.type === 'tool_result' ? [] : [{ block, part: inputOf(said) }],
    )
    if (results.length > 0) this.#add(at, 'tool', results)
    if (input.length > 0 || results.length === 0) this.#add(at, 'user', input)
  }

  /** A result that answers no call is refused further in, whatever it is called. */
  #resultIn = ({ tool_use_id: id, content, is_error: isError }: ToolResultBlock): ToolResult => ({
    type: 'tool-result',
    id,
    name: this.#toolNames.get(id) ?? 'unknown',
    content: (content ?? []).map(inputOf),
    ...(isError && { isError }),
  })

  /** Texts that follow each other are one, which was cut where it cites something. */
  #saidIn(blocks: readonly AssistantBlock[]): Placed<AssistantPart>[] {
    const placed: Placed<AssistantPart>[] = []
    for (const [block, said] of blocks.entries()) {
      if (said.type === 'tool_use') this.#toolNames.set(said.id, said.name)
      const last = placed.at(-1)?.part
      if (said.type === 'text' && last?.type === 'text') last.text += said.text
      // It goes with the call that follows.
      else if (said.type !== 'redacted_thinking' || blocks[block + 1]?.type !== 'tool_use')
        placed.push({ block, part: partOf(said, blocks[block - 1]) })
    }
    return placed
  }
}

function partOf(said: AssistantBlock, before: AssistantBlock | undefined): AssistantPart {
  switch (said.type) {
    case 'text':
      return { type: 'text', text: said.text }
    case 'thinking':
      return { type: 'reasoning', text: said.thinking, ...(said.signature && { signature: said.signature }) }
    case 'redacted_thinking':
      return { type: 'reasoning', text: '', signature: said.data }
    case 'tool_use': {
      const signature = before?.type === 'redacted_thinking' ? before.data : undefined
      const { id, name, input } = said
      return { type: 'tool-call', id, name, input: JSON.stringify(input), ...(signature && { signature }) }
    }
  }
}

function inputOf(block: InputBlock): InputPart {
  if (block.type === 'text') return { type: 'text', text: block.text }
  const { type, media_type, data } = block.source
  const file: FilePart = {
    type: 'file',
    mime: media_type,
    data: type === 'text' ? Buffer.from(data).toString('base64') : data,
  }
  return block.type === 'document' && block.title ? { ...file, name: block.title } : file
}
