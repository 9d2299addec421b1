import { randomInt } from 'node:crypto'
import type {
  LanguageModelV4Citation,
  LanguageModelV4Content,
  LanguageModelV4Message,
  LanguageModelV4Source,
  LanguageModelV4StreamPart,
  LanguageModelV4ToolCall,
  LanguageModelV4ToolResult,
  SharedV4ProviderMetadata,
} from '@ai-sdk/provider'
import type { AssistantPart, Source, TextPart, ToolCall } from '../../routers/ports/ai/messages.ts'
import type { AnswerPart, ToolUse } from '../../routers/ports/ai/models.ts'
import type { CitationTracker } from './citations.ts'
import { countFoundTokens } from './reported-usage.ts'
import { joinSignatures } from './sanitize-parts.ts'

type AssistantContent = Extract<LanguageModelV4Message, { role: 'assistant' }>['content']

/** A text or a reasoning block, with the provider metadata that has to be sent back with it. */
interface Block {
  type: 'text' | 'reasoning'
  id: string
  text: string
  metadata: SharedV4ProviderMetadata | undefined
}

type MessagePart = Block | LanguageModelV4ToolCall | LanguageModelV4ToolResult | Source

type ContentPart = TextPart | Exclude<AssistantPart, ToolCall> | Source

/** State that all rounds of an answer share. */
interface AnswerState {
  citations: CitationTracker
  callIds: CallIds
}

/** Collects the model's output of one round. */
export class AssistantMessage {
  readonly #parts: MessagePart[] = []
  readonly #citations: CitationTracker
  readonly #callIds: CallIds

  constructor({ citations, callIds }: AnswerState) {
    this.#citations = citations
    this.#callIds = callIds
  }

  /** Creates a message from a response that was not streamed. */
  static fromContent(content: readonly LanguageModelV4Content[], state: AnswerState): AssistantMessage {
    const message = new AssistantMessage(state)
    for (const part of content) {
      if (part.type === 'text' || part.type === 'reasoning') {
        const block = { type: part.type, id: '', text: part.text, metadata: part.providerMetadata }
        message.#parts.push(block)
        if (part.type === 'text') message.#addCitations(block, part.citations)
      } else if (part.type === 'tool-call' || part.type === 'tool-result' || part.type === 'source')
        message.append(part)
    }
    return message
  }

  /** Adds a part of a stream and returns the piece of it that is passed on to the caller at once. */
  append(part: LanguageModelV4StreamPart): AnswerPart | undefined {
    switch (part.type) {
      case 'text-delta':
        this.#findOrAddBlock('text', part).text += part.delta
        return { type: 'delta', text: part.delta }
      case 'text-start':
        return void this.#findOrAddBlock('text', part)
      case 'text-end':
        return void this.#addCitations(this.#findOrAddBlock('text', part), part.citations)
      case 'reasoning-delta':
        this.#findOrAddBlock('reasoning', part).text += part.delta
        return part.delta ? { type: 'reasoning', text: part.delta } : undefined
      case 'reasoning-start':
        return void this.#findOrAddBlock('reasoning', part)
      case 'reasoning-end': {
        const signature = joinSignatures(this.#findOrAddBlock('reasoning', part).metadata)
        return signature ? { type: 'reasoning', text: '', signature } : undefined
      }
      case 'tool-call':
        this.#parts.push(part.providerExecuted ? part : this.#normalizeCall(part))
        return part.providerExecuted ? toToolUse('provider')(part) : undefined
      case 'tool-result':
        this.#parts.push(part)
        return undefined
      case 'source':
        return this.#addSource(part)
      default:
        return undefined
    }
  }

  /** Tool calls that the provider does not run itself. */
  get calls(): LanguageModelV4ToolCall[] {
    return this.#parts.filter((part) => part.type === 'tool-call').filter((call) => !call.providerExecuted)
  }

  get text(): string {
    return this.#parts.map((part) => (part.type === 'text' || part.type === 'reasoning' ? part.text : '')).join('')
  }

  /** The text without the reasoning. */
  get answerText(): string {
    return joinText(this.#parts)
  }

  /** Estimated tokens of the results of provider tools, which count as input of the next round. */
  get foundTokens(): number {
    return this.#parts.reduce((sum, part) => sum + (part.type === 'tool-result' ? countFoundTokens(part) : 0), 0)
  }

  /** Everything but the tool calls. Consecutive texts are joined, as they are in a stream. */
  get content(): ContentPart[] {
    const answer: ContentPart[] = []
    for (const part of this.#parts) {
      const last = answer.at(-1)
      if (part.type === 'text' && last?.type === 'text') last.text += part.text
      else answer.push(...toContentParts(part))
    }
    return answer
  }

  /** True if there is nothing to send back to the provider, so that it cannot continue. */
  get isEmpty(): boolean {
    return this.providerContent.length === 0
  }

  /** The content to send back to the provider in the next round, with the arguments of tool calls as text. */
  get providerContent(): AssistantContent {
    return this.#parts.flatMap((part): AssistantContent => {
      if (part.type === 'source') return []
      if (part.type === 'tool-call') {
        const { type, toolCallId, toolName, providerExecuted, providerMetadata } = part
        const executed = providerExecuted && { providerExecuted }
        return [
          { type, toolCallId, toolName, input: part.input, ...executed, ...withProviderOptions(providerMetadata) },
        ]
      }
      if (part.type === 'tool-result') return [toProviderResult(part)]
      const { type, text, metadata } = part
      // Providers refuse a text that has only white space.
      return text.trim() || metadata ? [{ type, text, ...withProviderOptions(metadata) }] : []
    })
  }

  /** Gives a call a unique id, and an empty object if it has no arguments. */
  #normalizeCall(call: LanguageModelV4ToolCall): LanguageModelV4ToolCall {
    const { input } = call
    return this.#callIds.ensureUnique(input.trim() === '' ? { ...call, input: '{}' } : call)
  }

  #findOrAddBlock(
    type: Block['type'],
    { id, providerMetadata }: { id: string; providerMetadata?: SharedV4ProviderMetadata },
  ) {
    const known = this.#parts.findLast((part): part is Block => part.type === type && part.id === id)
    const block: Block = known ?? { type, id, text: '', metadata: undefined }
    if (!known) this.#parts.push(block)
    if (providerMetadata) block.metadata = mergeMetadata(block.metadata, providerMetadata)
    return block
  }

  #addSource(source: LanguageModelV4Source): Source | undefined {
    const reported = this.#citations.addSource(source, () => this.answerText)
    if (reported) this.#parts.push(reported)
    return reported
  }

  #addCitations(block: Block, citations: readonly LanguageModelV4Citation[] | undefined): void {
    if (citations)
      this.#citations.addCitations(citations, block.text, joinText(this.#parts.slice(0, this.#parts.indexOf(block))))
  }
}

function toContentParts(part: MessagePart): ContentPart[] {
  if (part.type === 'source') return [part]
  if (part.type === 'text') return part.text ? [{ type: 'text', text: part.text }] : []
  if (part.type !== 'reasoning') return []
  const signature = joinSignatures(part.metadata)
  return part.text || signature ? [{ type: 'reasoning', text: part.text, ...(signature && { signature }) }] : []
}

const joinText = (parts: readonly MessagePart[]) =>
  parts.map((part) => (part.type === 'text' ? part.text : '')).join('')

/** Converts a tool call to the form that the caller gets. */
export const toToolCall = (call: LanguageModelV4ToolCall): ToolCall => ({
  type: 'tool-call',
  id: call.toolCallId,
  name: call.toolName,
  input: call.input,
  ...readSignature(call),
})

/** Returns the signature that has to be sent back to the provider with a tool call, if there is one. */
export function readSignature({ providerMetadata }: Pick<LanguageModelV4ToolCall, 'providerMetadata'>) {
  // OpenAI expects no signature with a tool call.
  const { openai: _, ...proofs } = providerMetadata ?? {}
  const signature = joinSignatures(proofs)
  return signature ? { signature } : {}
}

export const toToolUse =
  (by: ToolUse['by']) =>
  ({ toolCallId: id, toolName: name, input }: LanguageModelV4ToolCall): ToolUse => ({
    type: 'tool-use',
    id,
    name,
    input,
    by,
  })

/** Returns the result of a provider tool unchanged, since the provider expects it back. */
function toProviderResult({ toolCallId, toolName, result, isError, providerMetadata }: LanguageModelV4ToolResult) {
  const output = { type: isError ? ('error-json' as const) : ('json' as const), value: result }
  return { type: 'tool-result' as const, toolCallId, toolName, output, ...withProviderOptions(providerMetadata) }
}

const withProviderOptions = (metadata: SharedV4ProviderMetadata | undefined) =>
  metadata && { providerOptions: metadata }

/** Merges metadata, since a provider sends that of a reasoning block in several events. */
function mergeMetadata(known: SharedV4ProviderMetadata = {}, more: SharedV4ProviderMetadata): SharedV4ProviderMetadata {
  return Object.fromEntries(
    Object.entries({ ...known, ...more }).map(([provider, of]) => [provider, { ...known[provider], ...of }]),
  )
}

const ID_CHARACTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'
/** Mistral accepts only ids of this length. */
const ID_LENGTH = 9

/** Gives each tool call of an answer a unique id, since some servers repeat or omit ids. */
export class CallIds {
  readonly #used = new Set<string>()

  ensureUnique(call: LanguageModelV4ToolCall): LanguageModelV4ToolCall {
    let id = call.toolCallId.trim()
    while (!id || this.#used.has(id)) id = createRandomId()
    this.#used.add(id)
    return id === call.toolCallId ? call : { ...call, toolCallId: id }
  }
}

const createRandomId = () =>
  Array.from({ length: ID_LENGTH }, () => ID_CHARACTERS[randomInt(ID_CHARACTERS.length)]).join('')
