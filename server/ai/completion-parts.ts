import type { LanguageModelV4FinishReason, LanguageModelV4Usage } from '@ai-sdk/provider'
import { errorIn } from './failures/told-refusal.ts'
import type { Part } from './provider-stream.ts'
import { completionTotal, completionUsage } from './usage/reported.ts'

/** One event of a chat completion, as far as it is read here. */
export interface CompletionChunk {
  choices?: { delta?: Delta | null; finish_reason?: string | null }[]
  usage?: object | null
  error?: unknown
  /** `error` where the event itself is one. */
  object?: string
}

interface Delta {
  content?: string | { type: string; text?: string }[] | null
  refusal?: string | null
  reasoning_content?: string | null
  reasoning?: string | null
  tool_calls?: ToolCallDelta[] | null
}

interface ToolCallDelta {
  index?: number | null
  id?: string | null
  function?: { name?: string | null; arguments?: string | null } | null
  extra_content?: object | null
}

interface ToolCall {
  id: string | undefined
  function: { name: string; arguments: string }
  extra_content: object | undefined
}

interface CompletionEnd {
  finishReason: LanguageModelV4FinishReason
  usage: LanguageModelV4Usage
  calls: object | undefined
}

const finishReasons = new Map<string, LanguageModelV4FinishReason['unified']>([
  ['stop', 'stop'],
  ['length', 'length'],
  ['content_filter', 'content-filter'],
  ['tool_calls', 'tool-calls'],
  ['function_call', 'tool-calls'],
])

/** Turns the chunks of a completion into parts, and assembles tool calls, the finish reason and the usage. */
export class CompletionParts {
  readonly #calls = new Map<number, ToolCall>()
  #finish: string | undefined
  #usage: object | undefined
  /** Whether the chunk before this one told of tokens. */
  #isCounted = false

  read(chunk: CompletionChunk): Part[] {
    const { choices, usage } = chunk
    const error = errorIn(chunk)
    const counted = this.#isCounted || usage ? [{ type: 'usage' as const, tokens: completionUsage(chunk) }] : []
    this.#isCounted = Boolean(usage)
    if (error) return [...counted, { type: 'error', error }]
    this.#usage = usage ?? this.#usage
    const { delta, finish_reason } = choices?.[0] ?? {}
    this.#finish = finish_reason ?? this.#finish
    return delta ? [...counted, ...this.#partsOf(delta)] : counted
  }

  #partsOf(delta: Delta): Part[] {
    const calls = (delta.tool_calls ?? []).map((call) => this.#add(call))
    const text = textOf(delta.content) + (delta.refusal ?? '')
    if (text) return [{ type: 'text-delta', id: '0', delta: text }, ...calls]
    const reasoning = delta.reasoning_content || delta.reasoning
    return reasoning ? [{ type: 'reasoning-delta', id: '0', delta: reasoning }, ...calls] : calls
  }

  /** Everything that was not yielded yet: why the answer ended, what it took, and the calls of tools as a complete answer, where there are some. */
  end(): CompletionEnd {
    const raw = this.#finish
    if (raw === undefined) throw new Error('the stream ended early')
    const message = { role: 'assistant', tool_calls: [...this.#calls.values()] }
    return {
      finishReason: { unified: finishReasons.get(raw) ?? 'other', raw },
      usage: completionTotal({ usage: this.#usage }),
      calls: this.#calls.size > 0 ? { choices: [{ message, finish_reason: raw }] } : undefined,
    }
  }

  #add({ index, id, function: part, extra_content }: ToolCallDelta): Part {
    const key = index ?? this.#calls.size
    const known = this.#calls.get(key)
    this.#calls.set(key, {
      id: known?.id ?? id ?? undefined,
      function: {
        name: known?.function.name || (part?.name ?? ''),
        arguments: (known?.function.arguments ?? '') + (part?.arguments ?? ''),
      },
      extra_content: known?.extra_content ?? extra_content ?? undefined,
    })
    return { type: 'tool-input-delta', id: `${key}`, delta: part?.arguments ?? '' }
  }
}

function textOf(content: Delta['content']): string {
  if (typeof content === 'string') return content
  return (content ?? []).map(({ type, text }) => (type === 'text' ? text : undefined) ?? '').join('')
}
