import type { Source, ToolCall } from '../../../routers/ports/ai/messages.ts'
import type { FinishReason } from '../../../routers/ports/ai/models.ts'
import type { Usage, WholeAnswer } from '../../ai/answer.ts'
import { readCustomInput } from '../openai-tools.ts'

/** The members of every chunk and of the whole completion. */
export interface CompletionHeader {
  id: string
  /** Unix time in seconds. */
  created: number
  model: string
  /** Names of custom tools. */
  custom: ReadonlySet<string>
}

/** Converts an answer to a chat completion. */
export function toCompletion(
  { custom, ...header }: CompletionHeader,
  { content, finish, logprobs, usage }: WholeAnswer,
) {
  const texts = content.flatMap((part) => (part.type === 'text' ? part.text : []))
  const thoughts = content.flatMap((part) => (part.type === 'reasoning' ? part.text : []))
  const calls = content.filter((part) => part.type === 'tool-call')
  const sources = content.filter((part) => part.type === 'source')
  const message = {
    role: 'assistant',
    content: texts.length > 0 || calls.length === 0 ? texts.join('') : null,
    refusal: null,
    annotations: sources.flatMap(toCitations),
    ...(thoughts.length > 0 && { reasoning_content: thoughts.join('') }),
    ...(calls.length > 0 && { tool_calls: calls.map((call) => toToolCall(call, custom)) }),
  }
  const choice = { index: 0, message, logprobs: toLogprobs(logprobs), finish_reason: finishReasons[finish] }
  return { ...header, object: 'chat.completion', choices: [choice], usage: toUsage(usage) }
}

export const toLogprobs = (logprobs: WholeAnswer['logprobs']) =>
  logprobs ? { content: logprobs, refusal: null } : null

export const finishReasons: Record<FinishReason, string> = {
  stop: 'stop',
  length: 'length',
  'tool-calls': 'tool_calls',
  'content-filter': 'content_filter',
}

/** Converts a call of a function or custom tool. */
export const toToolCall = ({ id, name, input, signature }: ToolCall, custom: ReadonlySet<string>) => ({
  id,
  ...(custom.has(name)
    ? { type: 'custom', custom: { name, input: readCustomInput(input) } }
    : { type: 'function', function: { name, arguments: input } }),
  ...(signature && { extra_content: { google: { thought_signature: signature } } }),
})

/** Converts a source to one citation per range; clients expect one even without a range. */
export const toCitations = ({ url, title = '', places = [NO_RANGE] }: Source) =>
  places.map(({ start, end }) => ({
    type: 'url_citation',
    url_citation: { url, title, start_index: start, end_index: end },
  }))

const NO_RANGE = { start: 0, end: 0 }

export const toUsage = ({ inputTokens, outputTokens, cachedTokens, cacheWriteTokens, reasoningTokens }: Usage) => ({
  prompt_tokens: inputTokens,
  completion_tokens: outputTokens,
  total_tokens: inputTokens + outputTokens,
  prompt_tokens_details: { cached_tokens: cachedTokens, cache_write_tokens: cacheWriteTokens },
  completion_tokens_details: { reasoning_tokens: reasoningTokens },
})
