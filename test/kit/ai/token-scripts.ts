import type { Adapter } from '../../../routers/ports/ai/adapters.ts'
import { message } from './anthropic.ts'
import {
  buildCompletionChunk,
  buildCompletionTotal,
  completions,
  toCompletionUsage,
  toFinishReason,
} from './dialects/completions.ts'
import {
  buildTextAnswer,
  type Dialect,
  type End,
  formatData,
  formatEvent,
  type TokenCounts,
} from './dialects/dialect.ts'
import { buildCandidate, generateContent, toContentEnd } from './dialects/generate-content.ts'
import { messages, toMessageUsage, toStopReason } from './dialects/messages.ts'
import { buildResponse, buildResponseWord, endResponse, responses, startResponse } from './dialects/responses.ts'
import type { ProviderRequest } from './provider.ts'

/** The stream of one kind of provider, with one token per event. */
export interface TokenScript {
  name: string
  adapter: Exclude<Adapter, 'demo'>
  provider?: object
  /** Token counts that the provider reports within a stream. */
  tells: 'nothing' | 'input' | 'everything'
  counts: { thoughts: boolean; cacheWrite: boolean }
  begin(tokens: TokenCounts): string
  thought(tokens: TokenCounts, request: ProviderRequest): string
  word(text: string, tokens: TokenCounts, request: ProviderRequest): string
  /** The end of a whole answer, of one that is as long as it may be, or of one that the provider refuses to say. */
  end(tokens: TokenCounts, reason: End): string
  error: string
  whole(text: string, tokens: TokenCounts): object
  /** An answer in one piece in which the provider refuses to say a word; absent where it has no word for it. */
  refused?: ((tokens: TokenCounts) => object) | undefined
}

const buildWhole = (dialect: Dialect): Pick<TokenScript, 'whole'> & Required<Pick<TokenScript, 'refused'>> => ({
  whole: (text, tokens) => dialect.whole(buildTextAnswer(text, tokens)),
  refused: (tokens) => dialect.whole(buildTextAnswer('', tokens, 'refusal')),
})

const buildRunningUsage = (tokens: TokenCounts, { body }: ProviderRequest) =>
  (body['stream_options'] as { continuous_usage_stats?: boolean } | undefined)?.continuous_usage_stats
    ? { usage: toCompletionUsage(tokens) }
    : {}

const done = 'data: [DONE]\n\n'

const completionScript = {
  ...buildWhole(completions),
  begin: () => buildCompletionChunk({ delta: { role: 'assistant', content: '' } }),
  thought: (tokens: TokenCounts, request: ProviderRequest) =>
    buildCompletionChunk({ delta: { reasoning_content: 'hm' } }, buildRunningUsage(tokens, request)),
  word: (content: string, tokens: TokenCounts, request: ProviderRequest) =>
    buildCompletionChunk({ delta: { content } }, buildRunningUsage(tokens, request)),
  error: formatData({ error: { message: 'no', type: 'server_error', code: 'no' } }),
}

const compatibleScript = {
  ...completionScript,
  end: (tokens: TokenCounts, end: End) =>
    buildCompletionChunk({ delta: {}, finish_reason: toFinishReason(end) }) + buildCompletionTotal(tokens) + done,
  adapter: 'openai-compatible' as const,
  counts: { thoughts: true, cacheWrite: true },
}

const mistral: TokenScript = {
  ...completionScript,
  name: 'mistral',
  adapter: 'mistral',
  tells: 'nothing',
  counts: { thoughts: false, cacheWrite: false },
  end: (tokens, end) =>
    buildCompletionChunk(
      { delta: { content: '' }, finish_reason: toFinishReason(end) },
      { usage: toCompletionUsage(tokens) },
    ) + done,
  thought: () => '',
  refused: undefined,
}

const openai: TokenScript = {
  ...buildWhole(responses),
  name: 'openai',
  adapter: 'openai',
  tells: 'nothing',
  counts: { thoughts: false, cacheWrite: true },
  begin: startResponse,
  thought: () => '',
  word: buildResponseWord,
  end: (tokens, end) => endResponse({ tokens, end }),
  error: formatEvent('error', {
    sequence_number: 9,
    error: { type: 'server_error', code: 'no', message: 'no', param: null },
  }),
}

/** OpenAI's event of a failed answer includes the usage. */
export const buildFailedResponse = (tokens: TokenCounts) =>
  formatEvent('response.failed', {
    response: buildResponse(tokens, { status: 'failed', error: { code: 'server_error', message: 'no' } }),
  })

const buildDelta = (index: number, delta: object) => formatEvent('content_block_delta', { index, delta })

const anthropic: TokenScript = {
  ...buildWhole(messages),
  name: 'anthropic',
  adapter: 'anthropic',
  tells: 'input',
  counts: { thoughts: true, cacheWrite: true },
  begin: (tokens) =>
    formatEvent('message_start', {
      message: { ...message, content: [], stop_reason: null, usage: toMessageUsage({ ...tokens, output: 1 }) },
    }) +
    formatEvent('content_block_start', { index: 0, content_block: { type: 'thinking', thinking: '', signature: '' } }) +
    formatEvent('content_block_start', { index: 1, content_block: { type: 'text', text: '' } }),
  thought: () => buildDelta(0, { type: 'thinking_delta', thinking: 'hm' }),
  word: (text) => buildDelta(1, { type: 'text_delta', text }),
  end: ({ output, reasoning }, end) =>
    formatEvent('content_block_stop', { index: 1 }) +
    formatEvent('message_delta', {
      delta: { stop_reason: toStopReason(end), stop_sequence: null },
      usage: { output_tokens: output, output_tokens_details: { thinking_tokens: reasoning } },
    }) +
    formatEvent('message_stop'),
  error: formatEvent('error', { error: { type: 'overloaded_error', message: 'no' } }),
}

/** A message may have several deltas, each with the running output. */
const buildRunningDelta = ({ output, reasoning }: TokenCounts) =>
  formatEvent('message_delta', {
    delta: { stop_reason: null, stop_sequence: null },
    usage: { output_tokens: output, output_tokens_details: { thinking_tokens: reasoning } },
  })

const google: TokenScript = {
  ...buildWhole(generateContent),
  name: 'google',
  adapter: 'google',
  tells: 'everything',
  counts: { thoughts: true, cacheWrite: false },
  begin: () => '',
  thought: (tokens) => formatData(buildCandidate([{ text: 'hm', thought: true }], tokens)),
  word: (text, tokens) => formatData(buildCandidate([{ text }], tokens)),
  end: (tokens, end) => formatData(buildCandidate([{ text: '' }], tokens, { finishReason: toContentEnd(end) })),
  error: formatData({ error: { code: 500, message: 'no', status: 'INTERNAL' } }),
}

export const tokenScripts: TokenScript[] = [
  { name: 'openai-compatible', tells: 'nothing', ...compatibleScript },
  {
    name: 'openai-compatible that tells its running total',
    tells: 'everything',
    provider: { continuousUsage: true },
    ...compatibleScript,
  },
  openai,
  anthropic,
  {
    ...anthropic,
    name: 'anthropic that tells its running total',
    tells: 'everything',
    thought: (tokens, request) => anthropic.thought(tokens, request) + buildRunningDelta(tokens),
    word: (text, tokens, request) => anthropic.word(text, tokens, request) + buildRunningDelta(tokens),
  },
  google,
  mistral,
]
