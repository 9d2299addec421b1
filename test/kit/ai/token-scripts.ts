import type { Adapter } from '../../../routers/ports/ai/adapters.ts'
import { message } from './anthropic.ts'
import {
  completionChunk,
  completionEnd,
  completions,
  completionTotal,
  completionUsage,
} from './dialects/completions.ts'
import { type Counted, type Dialect, data, type End, named, saying } from './dialects/dialect.ts'
import { candidate, contentEnd, generateContent } from './dialects/generate-content.ts'
import { messageEnd, messages, messageUsage } from './dialects/messages.ts'
import { begunResponse, endedResponse, responseOf, responses, responseWord } from './dialects/responses.ts'
import type { Asked } from './provider.ts'

/** How a provider of one kind writes the events of a stream, one token in each. */
export interface TokenScript {
  name: string
  adapter: Exclude<Adapter, 'demo'>
  provider?: object
  /** What it says of tokens in the middle of a stream. */
  tells: 'nothing' | 'input' | 'everything'
  counts: { thoughts: boolean; cacheWrite: boolean }
  begin(counted: Counted): string
  thought(counted: Counted, asked: Asked): string
  word(text: string, counted: Counted, asked: Asked): string
  /** The end of a whole answer, of one that is as long as it may be, or of one that the provider refuses to say. */
  end(counted: Counted, reason: End): string
  error: string
  whole(text: string, counted: Counted): object
  /** An answer in one piece in which the provider refuses to say a word; absent where it has no word for it. */
  refused?: ((counted: Counted) => object) | undefined
}

const inOnePiece = (dialect: Dialect): Pick<TokenScript, 'whole'> & Required<Pick<TokenScript, 'refused'>> => ({
  whole: (text, counted) => dialect.whole(saying(text, counted)),
  refused: (counted) => dialect.whole(saying('', counted, 'refusal')),
})

const running = (counted: Counted, { body }: Asked) =>
  (body['stream_options'] as { continuous_usage_stats?: boolean } | undefined)?.continuous_usage_stats
    ? { usage: completionUsage(counted) }
    : {}

const done = 'data: [DONE]\n\n'

const completing = {
  ...inOnePiece(completions),
  begin: () => completionChunk({ delta: { role: 'assistant', content: '' } }),
  thought: (counted: Counted, asked: Asked) =>
    completionChunk({ delta: { reasoning_content: 'hm' } }, running(counted, asked)),
  word: (content: string, counted: Counted, asked: Asked) =>
    completionChunk({ delta: { content } }, running(counted, asked)),
  error: data({ error: { message: 'no', type: 'server_error', code: 'no' } }),
}

const compatible = {
  ...completing,
  end: (counted: Counted, end: End) =>
    completionChunk({ delta: {}, finish_reason: completionEnd(end) }) + completionTotal(counted) + done,
  adapter: 'openai-compatible' as const,
  counts: { thoughts: true, cacheWrite: true },
}

const mistral: TokenScript = {
  ...completing,
  name: 'mistral',
  adapter: 'mistral',
  tells: 'nothing',
  counts: { thoughts: false, cacheWrite: false },
  end: (counted, end) =>
    completionChunk(
      { delta: { content: '' }, finish_reason: completionEnd(end) },
      { usage: completionUsage(counted) },
    ) + done,
  thought: () => '',
  refused: undefined,
}

const openai: TokenScript = {
  ...inOnePiece(responses),
  name: 'openai',
  adapter: 'openai',
  tells: 'nothing',
  counts: { thoughts: false, cacheWrite: true },
  begin: begunResponse,
  thought: () => '',
  word: responseWord,
  end: (counted, end) => endedResponse({ counted, end }),
  error: named('error', {
    sequence_number: 9,
    error: { type: 'server_error', code: 'no', message: 'no', param: null },
  }),
}

/** OpenAI's word that an answer failed comes with a bill. */
export const failedResponse = (counted: Counted) =>
  named('response.failed', {
    response: responseOf(counted, { status: 'failed', error: { code: 'server_error', message: 'no' } }),
  })

const block = (index: number, delta: object) => named('content_block_delta', { index, delta })

const anthropic: TokenScript = {
  ...inOnePiece(messages),
  name: 'anthropic',
  adapter: 'anthropic',
  tells: 'input',
  counts: { thoughts: true, cacheWrite: true },
  begin: (counted) =>
    named('message_start', {
      message: { ...message, content: [], stop_reason: null, usage: messageUsage({ ...counted, output: 1 }) },
    }) +
    named('content_block_start', { index: 0, content_block: { type: 'thinking', thinking: '', signature: '' } }) +
    named('content_block_start', { index: 1, content_block: { type: 'text', text: '' } }),
  thought: () => block(0, { type: 'thinking_delta', thinking: 'hm' }),
  word: (text) => block(1, { type: 'text_delta', text }),
  end: ({ output, reasoning }, end) =>
    named('content_block_stop', { index: 1 }) +
    named('message_delta', {
      delta: { stop_reason: messageEnd(end), stop_sequence: null },
      usage: { output_tokens: output, output_tokens_details: { thinking_tokens: reasoning } },
    }) +
    named('message_stop'),
  error: named('error', { error: { type: 'overloaded_error', message: 'no' } }),
}

/** A message may have several deltas, each with the output so far. */
const runningAnthropic = ({ output, reasoning }: Counted) =>
  named('message_delta', {
    delta: { stop_reason: null, stop_sequence: null },
    usage: { output_tokens: output, output_tokens_details: { thinking_tokens: reasoning } },
  })

const google: TokenScript = {
  ...inOnePiece(generateContent),
  name: 'google',
  adapter: 'google',
  tells: 'everything',
  counts: { thoughts: true, cacheWrite: false },
  begin: () => '',
  thought: (counted) => data(candidate([{ text: 'hm', thought: true }], counted)),
  word: (text, counted) => data(candidate([{ text }], counted)),
  end: (counted, end) => data(candidate([{ text: '' }], counted, { finishReason: contentEnd(end) })),
  error: data({ error: { code: 500, message: 'no', status: 'INTERNAL' } }),
}

export const tokenScripts: TokenScript[] = [
  { name: 'openai-compatible', tells: 'nothing', ...compatible },
  {
    name: 'openai-compatible that tells its running total',
    tells: 'everything',
    provider: { continuousUsage: true },
    ...compatible,
  },
  openai,
  anthropic,
  {
    ...anthropic,
    name: 'anthropic that tells its running total',
    tells: 'everything',
    thought: (counted, asked) => anthropic.thought(counted, asked) + runningAnthropic(counted),
    word: (text, counted, asked) => anthropic.word(text, counted, asked) + runningAnthropic(counted),
  },
  google,
  mistral,
]
