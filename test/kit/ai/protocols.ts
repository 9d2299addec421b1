import type { Adapter } from '../../../routers/ports/ai/adapters.ts'
import { completions, mistral } from './dialects/completions.ts'
import { type Dialect, data, named, saying } from './dialects/dialect.ts'
import { generateContent } from './dialects/generate-content.ts'
import { messages } from './dialects/messages.ts'
import { responses } from './dialects/responses.ts'
import { canary } from './provider.ts'

/** How a provider of one kind is asked and answers, as far as one short conversation needs it. */
export interface Protocol {
  adapter: Exclude<Adapter, 'demo'>
  path: string
  streamPath: string
  /** What proves the caller. */
  header: [name: string, value: string]
  answer: object
  /** The events of a stream: two pieces of text, then the end. */
  events: readonly [start: string, end: string]
  /** An event that reports an error in the middle. */
  error: string
  listing: unknown
}

export const key = 'provider-key'
const said = saying('Hello there.', { input: 7, output: 3, cached: 2, cacheWrite: 0, reasoning: 0 })

const speaking = (dialect: Dialect) => ({
  answer: dialect.whole(said),
  events: dialect.events(said, { stream_options: { include_usage: true } }),
})

const usual = {
  header: ['authorization', `Bearer ${key}`] as Protocol['header'],
  listing: { data: [{ id: 'up-1' }, { id: 'other' }] },
}
const completing = {
  ...{ ...usual, path: '/chat/completions', streamPath: '/chat/completions' },
  error: data({ error: { message: canary, type: 'server_error', code: canary } }),
}

export const protocols: Protocol[] = [
  { adapter: 'openai-compatible', ...completing, ...speaking(completions) },
  { adapter: 'open_web_ui', ...completing, ...speaking(completions) },
  {
    ...{ ...usual, adapter: 'openai', path: '/responses', streamPath: '/responses', ...speaking(responses) },
    error: named('error', {
      sequence_number: 9,
      error: { type: 'server_error', code: canary, message: canary, param: null },
    }),
  },
  {
    ...{ ...usual, adapter: 'anthropic', path: '/messages', streamPath: '/messages', ...speaking(messages) },
    header: ['x-api-key', key],
    error: named('error', { error: { type: 'overloaded_error', message: canary } }),
  },
  {
    ...{ adapter: 'google', header: ['x-goog-api-key', key], ...speaking(generateContent) },
    path: '/models/up-1:generateContent',
    streamPath: '/models/up-1:streamGenerateContent?alt=sse',
    error: data({ error: { code: 500, message: canary, status: 'INTERNAL' } }),
    listing: { models: [{ name: 'models/up-1' }, { name: 'models/other' }] },
  },
  { adapter: 'mistral', ...completing, ...speaking(mistral) },
]
