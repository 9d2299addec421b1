import type { Adapter } from '../../../routers/ports/ai/adapters.ts'
import type { Asked } from './provider.ts'

/** What a provider counts of one request. */
export interface Counted {
  input: number
  output: number
  cached: number
  cacheWrite: number
  reasoning: number
}

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
  whole(text: string, counted: Counted): unknown
  /** An answer in one piece in which the provider refuses to say a word; absent where it has no word for it. */
  refused?: ((counted: Counted) => unknown) | undefined
}

type End = 'stop' | 'length' | 'refusal'

const data = (event: object) => `data: ${JSON.stringify(event)}\n\n`
const named = (type: string, event: object = {}) => `event: ${type}\n${data({ type, ...event })}`

const completionUsage = ({ input, output, cached, cacheWrite, reasoning }: Counted) => ({
  prompt_tokens: input,
  completion_tokens: output,
  total_tokens: input + output,
  prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: cacheWrite },
  completion_tokens_details: { reasoning_tokens: reasoning },
})
const completion = (choice: object, more: object = {}) =>
  data({
    id: 'c',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'up',
    choices: [{ index: 0, ...choice }],
    ...more,
  })
const running = (counted: Counted, { body }: Asked) =>
  (body['stream_options'] as { continuous_usage_stats?: boolean } | undefined)?.continuous_usage_stats
    ? { usage: completionUsage(counted) }
    : {}

const completionEnd = (reason: End) => (reason === 'refusal' ? 'content_filter' : reason)

const completions = {
  begin: () => completion({ delta: { role: 'assistant', content: '' } }),
  thought: (counted: Counted, asked: Asked) =>
    completion({ delta: { reasoning_content: 'hm' } }, running(counted, asked)),
  word: (content: string, counted: Counted, asked: Asked) =>
    completion({ delta: { content } }, running(counted, asked)),
  end: (counted: Counted, reason: End) =>
    `${completion({ delta: { content: '' }, finish_reason: completionEnd(reason) }, { usage: completionUsage(counted) })}data: [DONE]\n\n`,
  error: data({ error: { message: 'no', type: 'server_error', code: 'no' } }),
  whole: (content: string, counted: Counted) => ({
    ...{ id: 'c', object: 'chat.completion', created: 1, model: 'up' },
    choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
    usage: completionUsage(counted),
  }),
  refused: (counted: Counted) => ({
    ...{ id: 'c', object: 'chat.completion', created: 1, model: 'up' },
    choices: [{ index: 0, message: { role: 'assistant', content: null }, finish_reason: 'content_filter' }],
    usage: completionUsage(counted),
  }),
}

const responseOf = (counted: Counted, more: object) => ({
  ...{ id: 'resp', object: 'response', created_at: 1, model: 'up', output: [], ...more },
  usage: {
    input_tokens: counted.input,
    output_tokens: counted.output,
    input_tokens_details: { cached_tokens: counted.cached, cache_write_tokens: counted.cacheWrite },
    output_tokens_details: { reasoning_tokens: counted.reasoning },
  },
})
const item = { type: 'message', id: 'msg', role: 'assistant', status: 'completed' }

const responses: TokenScript = {
  name: 'openai',
  adapter: 'openai',
  tells: 'nothing',
  counts: { thoughts: false, cacheWrite: true },
  begin: () =>
    named('response.created', { response: { id: 'resp', object: 'response', created_at: 1, model: 'up' } }) +
    named('response.output_item.added', { output_index: 0, item }),
  thought: () => '',
  word: (delta) => named('response.output_text.delta', { item_id: 'msg', output_index: 0, delta }),
  end: (counted, reason) =>
    named('response.output_item.done', { output_index: 0, item }) +
    (reason === 'stop'
      ? named('response.completed', { response: responseOf(counted, {}) })
      : named('response.incomplete', {
          response: responseOf(counted, {
            incomplete_details: { reason: reason === 'refusal' ? 'content_filter' : 'max_output_tokens' },
          }),
        })),
  error: named('error', {
    sequence_number: 9,
    error: { type: 'server_error', code: 'no', message: 'no', param: null },
  }),
  whole: (text, counted) =>
    responseOf(counted, {
      status: 'completed',
      output: [{ ...item, content: [{ type: 'output_text', text, annotations: [] }] }],
    }),
  refused: (counted) =>
    responseOf(counted, { status: 'incomplete', incomplete_details: { reason: 'content_filter' }, output: [] }),
}

/** OpenAI's word that an answer failed comes with a bill. */
export const failedResponse = (counted: Counted) =>
  named('response.failed', {
    response: responseOf(counted, { status: 'failed', error: { code: 'server_error', message: 'no' } }),
  })

const anthropicUsage = ({ input, output, cached, cacheWrite }: Counted) => ({
  input_tokens: input - cached - cacheWrite,
  cache_read_input_tokens: cached,
  cache_creation_input_tokens: cacheWrite,
  output_tokens: output,
})
const anthropicMessage = { type: 'message', id: 'msg', role: 'assistant', model: 'up', stop_sequence: null }
const anthropicEnds = { stop: 'end_turn', length: 'max_tokens', refusal: 'refusal' }
const block = (index: number, delta: object) => named('content_block_delta', { index, delta })

const anthropic: TokenScript = {
  name: 'anthropic',
  adapter: 'anthropic',
  tells: 'input',
  counts: { thoughts: true, cacheWrite: true },
  begin: (counted) =>
    named('message_start', {
      message: {
        ...anthropicMessage,
        content: [],
        stop_reason: null,
        usage: anthropicUsage({ ...counted, output: 1 }),
      },
    }) +
    named('content_block_start', { index: 0, content_block: { type: 'thinking', thinking: '', signature: '' } }) +
    named('content_block_start', { index: 1, content_block: { type: 'text', text: '' } }),
  thought: () => block(0, { type: 'thinking_delta', thinking: 'hm' }),
  word: (text) => block(1, { type: 'text_delta', text }),
  end: (counted, reason) =>
    named('content_block_stop', { index: 1 }) +
    named('message_delta', {
      delta: { stop_reason: anthropicEnds[reason], stop_sequence: null },
      usage: {
        output_tokens: counted.output,
        output_tokens_details: { thinking_tokens: counted.reasoning },
      },
    }) +
    named('message_stop'),
  error: named('error', { error: { type: 'overloaded_error', message: 'no' } }),
  whole: (text, counted) => ({
    ...anthropicMessage,
    content: [{ type: 'text', text }],
    stop_reason: 'end_turn',
    usage: { ...anthropicUsage(counted), output_tokens_details: { thinking_tokens: counted.reasoning } },
  }),
  refused: (counted) => ({
    ...{ ...anthropicMessage, content: [], stop_reason: 'refusal' },
    usage: anthropicUsage(counted),
  }),
}

/** A message may have several deltas, each with the output so far. */
const runningAnthropic = ({ output, reasoning }: Counted) =>
  named('message_delta', {
    delta: { stop_reason: null, stop_sequence: null },
    usage: { output_tokens: output, output_tokens_details: { thinking_tokens: reasoning } },
  })

const googleUsage = ({ input, output, cached, reasoning }: Counted) => ({
  promptTokenCount: input,
  candidatesTokenCount: output - reasoning,
  thoughtsTokenCount: reasoning,
  cachedContentTokenCount: cached,
  totalTokenCount: input + output,
})
const googleEnds = { stop: 'STOP', length: 'MAX_TOKENS', refusal: 'SAFETY' }
const candidate = (part: object, counted: Counted, more: object = {}) => ({
  candidates: [{ index: 0, content: { role: 'model', parts: [part] }, ...more }],
  usageMetadata: googleUsage(counted),
})

const google: TokenScript = {
  name: 'google',
  adapter: 'google',
  tells: 'everything',
  counts: { thoughts: true, cacheWrite: false },
  begin: () => '',
  thought: (counted) => data(candidate({ text: 'hm', thought: true }, counted)),
  word: (text, counted) => data(candidate({ text }, counted)),
  end: (counted, reason) => data(candidate({ text: '' }, counted, { finishReason: googleEnds[reason] })),
  error: data({ error: { code: 500, message: 'no', status: 'INTERNAL' } }),
  whole: (text, counted) => candidate({ text }, counted, { finishReason: 'STOP' }),
  refused: (counted) => ({ promptFeedback: { blockReason: 'SAFETY' }, usageMetadata: googleUsage(counted) }),
}

const compatible = {
  ...completions,
  // Most servers tell the total in a chunk of its own, behind the last choice.
  end: (counted: Counted, reason: End) =>
    completion({ delta: {}, finish_reason: completionEnd(reason) }) +
    data({
      ...{ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'up' },
      choices: [],
      usage: completionUsage(counted),
    }) +
    'data: [DONE]\n\n',
  adapter: 'openai-compatible' as const,
  counts: { thoughts: true, cacheWrite: true },
}

export const tokenScripts: TokenScript[] = [
  { name: 'openai-compatible', tells: 'nothing', ...compatible },
  {
    name: 'openai-compatible that tells its running total',
    tells: 'everything',
    provider: { continuousUsage: true },
    ...compatible,
  },
  responses,
  anthropic,
  {
    ...anthropic,
    name: 'anthropic that tells its running total',
    tells: 'everything',
    thought: (counted, asked) => anthropic.thought(counted, asked) + runningAnthropic(counted),
    word: (text, counted, asked) => anthropic.word(text, counted, asked) + runningAnthropic(counted),
  },
  google,
  {
    name: 'mistral',
    adapter: 'mistral',
    tells: 'nothing',
    counts: { thoughts: false, cacheWrite: false },
    ...completions,
    thought: () => '',
    refused: undefined,
  },
]
