import type { Adapter } from '../../../routers/ports/ai/adapters.ts'
import { completions, mistral } from './dialects/completions.ts'
import { buildTextAnswer, type Dialect, formatData, formatEvent } from './dialects/dialect.ts'
import { generateContent } from './dialects/generate-content.ts'
import { messages } from './dialects/messages.ts'
import { responses } from './dialects/responses.ts'
import { canary } from './provider.ts'

/** The requests and answers of one kind of provider, for one short conversation. */
export interface Protocol {
  adapter: Exclude<Adapter, 'demo'>
  path: string
  streamPath: string
  /** The header that authenticates the caller. */
  header: [name: string, value: string]
  answer: object
  /** The events of a stream: two pieces of text, then the end. */
  events: readonly [start: string, end: string]
  /** An event that reports an error in the middle. */
  error: string
  listing: unknown
}

export const PROVIDER_KEY = 'provider-key'
const spokenAnswer = buildTextAnswer('Hello there.', { input: 7, output: 3, cached: 2, cacheWrite: 0, reasoning: 0 })

const writeAnswer = (dialect: Dialect) => ({
  answer: dialect.whole(spokenAnswer),
  events: dialect.events(spokenAnswer, { stream_options: { include_usage: true } }),
})

const sharedParts = {
  header: ['authorization', `Bearer ${PROVIDER_KEY}`] as Protocol['header'],
  listing: { data: [{ id: 'up-1' }, { id: 'other' }] },
}
const completionParts = {
  ...sharedParts,
  path: '/chat/completions',
  streamPath: '/chat/completions',
  error: formatData({ error: { message: canary, type: 'server_error', code: canary } }),
}

export const protocols: Protocol[] = [
  { adapter: 'openai-compatible', ...completionParts, ...writeAnswer(completions) },
  { adapter: 'open_web_ui', ...completionParts, ...writeAnswer(completions) },
  {
    ...sharedParts,
    adapter: 'openai',
    path: '/responses',
    streamPath: '/responses',
    ...writeAnswer(responses),
    error: formatEvent('error', {
      sequence_number: 9,
      error: { type: 'server_error', code: canary, message: canary, param: null },
    }),
  },
  {
    ...sharedParts,
    adapter: 'anthropic',
    path: '/messages',
    streamPath: '/messages',
    ...writeAnswer(messages),
    header: ['x-api-key', PROVIDER_KEY],
    error: formatEvent('error', { error: { type: 'overloaded_error', message: canary } }),
  },
  {
    adapter: 'google',
    header: ['x-goog-api-key', PROVIDER_KEY],
    ...writeAnswer(generateContent),
    path: '/models/up-1:generateContent',
    streamPath: '/models/up-1:streamGenerateContent?alt=sse',
    error: formatData({ error: { code: 500, message: canary, status: 'INTERNAL' } }),
    listing: { models: [{ name: 'models/up-1' }, { name: 'models/other' }] },
  },
  { adapter: 'mistral', ...completionParts, ...writeAnswer(mistral) },
]
