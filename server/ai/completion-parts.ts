import type {
  LanguageModelV4FinishReason,
  LanguageModelV4Source,
  LanguageModelV4ToolCall,
  LanguageModelV4Usage,
  SharedV4ProviderMetadata,
} from '@ai-sdk/provider'
import type { Part } from './provider-stream.ts'
import { type Citation, CompletionReader } from './wire/completion-reader.ts'
import type { Progress } from './wire/event-frames.ts'
import type { AssembledCall } from './wire/tool-call-assembler.ts'

interface End {
  finishReason: LanguageModelV4FinishReason
  usage: LanguageModelV4Usage
  calls: LanguageModelV4ToolCall[]
  providerMetadata?: SharedV4ProviderMetadata
}

/** Turns the frames of a completion into the parts of an answer. */
export class CompletionParts {
  readonly #reader = new CompletionReader()
  /** Whether the frame before this one told of tokens. */
  #isCounted = false

  get progress(): Progress {
    return this.#reader.progress
  }

  read(frame: unknown): Part[] {
    const { usage, error, said, calls, cited } = this.#reader.read(frame)
    const parts: Part[] = this.#isCounted || usage ? [{ type: 'usage', tokens: usage }] : []
    this.#isCounted = Boolean(usage)
    if (error) parts.push({ type: 'error', error })
    for (const { type, text } of said) parts.push({ type: `${type}-delta`, id: '0', delta: text })
    for (const { at, arguments: delta } of calls) parts.push({ type: 'tool-input-delta', id: `${at}`, delta })
    for (const citation of cited) parts.push(toSource(citation))
    return parts
  }

  /** Returns everything that was not yielded yet. */
  end(): End {
    const { calls, stopSequence, ...end } = this.#reader.end()
    const told = stopSequence === undefined ? {} : { providerMetadata: { compatible: { stopSequence } } }
    return { ...end, ...told, calls: calls.map(toToolCall) }
  }
}

const toSource = ({ url, title }: Citation): LanguageModelV4Source => ({
  type: 'source',
  sourceType: 'url',
  id: url,
  url,
  ...(title && { title }),
})

/** Google wants its proof of a call back. */
function toToolCall({ id = '', name: toolName, arguments: input, extraContent }: AssembledCall) {
  const { google } = (extraContent ?? {}) as { google?: { thought_signature?: unknown } | null }
  const thoughtSignature = google?.thought_signature
  return {
    type: 'tool-call' as const,
    toolCallId: id,
    toolName,
    input,
    ...(typeof thoughtSignature === 'string' && { providerMetadata: { compatible: { thoughtSignature } } }),
  }
}
