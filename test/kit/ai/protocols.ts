import type { Adapter } from '../../../routers/ports/ai/adapters.ts'
import { canary } from './provider.ts'

/** How a provider of one kind is asked and answers, as far as one short conversation needs it. */
export interface Protocol {
  adapter: Exclude<Adapter, 'demo'>
  path: string
  streamPath: string
  /** What proves the caller. */
  header: [name: string, value: string]
  answer: unknown
  /** The events of a stream: two pieces of text, then the end. */
  events: [start: string, end: string]
  /** An event that reports an error in the middle. */
  error: string
  listing: unknown
}

export const key = 'provider-key'
const bearer: Protocol['header'] = ['authorization', `Bearer ${key}`]
const texts = ['Hello ', 'there.']
const text = texts.join('')

const data = (...events: object[]) => events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')
const named = (...events: { type: string }[]) =>
  events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('')

const completionUsage = {
  prompt_tokens: 7,
  completion_tokens: 3,
  total_tokens: 10,
  prompt_tokens_details: { cached_tokens: 2 },
}
const completion = { id: 'c', object: 'chat.completion', created: 1, model: 'up-1' }
const choice = (more: object) => ({ ...completion, choices: [{ index: 0, ...more }] })
const completions = {
  path: '/chat/completions',
  streamPath: '/chat/completions',
  header: bearer,
  answer: {
    ...choice({ message: { role: 'assistant', content: text }, finish_reason: 'stop' }),
    usage: completionUsage,
  },
  events: [
    data(...texts.map((content) => choice({ delta: { role: 'assistant', content } }))),
    `${data({ ...choice({ delta: { content: '' }, finish_reason: 'stop' }), usage: completionUsage })}data: [DONE]\n\n`,
  ] as Protocol['events'],
  error: data({ error: { message: canary, type: 'server_error', code: canary } }),
  listing: { data: [{ id: 'up-1' }, { id: 'other' }] },
}

const responseUsage = {
  input_tokens: 7,
  output_tokens: 3,
  input_tokens_details: { cached_tokens: 2 },
  output_tokens_details: { reasoning_tokens: 0 },
}
const message = { type: 'message', id: 'msg', role: 'assistant', status: 'completed' }
const response = { id: 'resp', object: 'response', created_at: 1, model: 'up-1' }

const responses: Protocol = {
  adapter: 'openai',
  path: '/responses',
  streamPath: '/responses',
  header: bearer,
  answer: {
    ...response,
    status: 'completed',
    output: [{ ...message, content: [{ type: 'output_text', text, annotations: [] }] }],
    usage: responseUsage,
  },
  events: [
    named(
      { type: 'response.created', response } as { type: string },
      { type: 'response.output_item.added', output_index: 0, item: message } as { type: string },
      ...texts.map((delta) => ({ type: 'response.output_text.delta', item_id: 'msg', output_index: 0, delta })),
    ),
    named(
      { type: 'response.output_item.done', output_index: 0, item: message } as { type: string },
      { type: 'response.completed', response: { ...response, usage: responseUsage } } as { type: string },
    ),
  ],
  error: named({
    type: 'error',
    sequence_number: 9,
    error: { type: 'server_error', code: canary, message: canary, param: null },
  } as { type: string }),
  listing: completions.listing,
}

const anthropicUsage = { input_tokens: 5, cache_read_input_tokens: 2, cache_creation_input_tokens: 0 }
const anthropicMessage = { type: 'message', id: 'msg', role: 'assistant', model: 'up-1', stop_sequence: null }

const anthropic: Protocol = {
  adapter: 'anthropic',
  path: '/messages',
  streamPath: '/messages',
  header: ['x-api-key', key],
  answer: {
    ...anthropicMessage,
    content: [{ type: 'text', text }],
    stop_reason: 'end_turn',
    usage: { ...anthropicUsage, output_tokens: 3 },
  },
  events: [
    named(
      {
        type: 'message_start',
        message: {
          ...anthropicMessage,
          content: [],
          stop_reason: null,
          usage: { ...anthropicUsage, output_tokens: 0 },
        },
      } as { type: string },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } } as { type: string },
      ...texts.map((piece) => ({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: piece } })),
    ),
    named(
      { type: 'content_block_stop', index: 0 } as { type: string },
      {
        type: 'message_delta',
        delta: { stop_reason: 'end_turn', stop_sequence: null },
        usage: { output_tokens: 3 },
      } as { type: string },
      { type: 'message_stop' },
    ),
  ],
  error: named({ type: 'error', error: { type: 'overloaded_error', message: canary } } as { type: string }),
  listing: completions.listing,
}

const googleUsage = {
  promptTokenCount: 7,
  candidatesTokenCount: 3,
  cachedContentTokenCount: 2,
  totalTokenCount: 10,
}
const candidate = (part: string, more: object = {}) => ({
  candidates: [{ index: 0, content: { role: 'model', parts: [{ text: part }] }, ...more }],
})

const google: Protocol = {
  adapter: 'google',
  path: '/models/up-1:generateContent',
  streamPath: '/models/up-1:streamGenerateContent?alt=sse',
  header: ['x-goog-api-key', key],
  answer: { ...candidate(text, { finishReason: 'STOP' }), usageMetadata: googleUsage },
  events: [
    data(...texts.map((piece) => candidate(piece))),
    data({ ...candidate('', { finishReason: 'STOP' }), usageMetadata: googleUsage }),
  ],
  error: data({ error: { code: 500, message: canary, status: 'INTERNAL' } }),
  listing: { models: [{ name: 'models/up-1' }, { name: 'models/other' }] },
}

export const protocols: Protocol[] = [
  { adapter: 'openai-compatible', ...completions },
  { adapter: 'open_web_ui', ...completions },
  responses,
  anthropic,
  google,
  { adapter: 'mistral', ...completions },
]
