import { atOnce, openWith } from './ai-req.ts'
import { type BenchRequest, type Suite, throughput, type Wanted } from './suite.ts'

const question = {
  model: 'mock-1',
  messages: [
    { role: 'system', content: 'You answer shortly, and only what was asked.' },
    { role: 'user', content: 'What does it take to answer a question about the weather of tomorrow?' },
  ],
}

/** As long as what people have open while they ask. */
const FILE_BYTES = 40_000
const files = Array.from({ length: 10 }, (_, at) => {
  const text = `${at} `.repeat(FILE_BYTES / 2)
  return {
    type: 'file',
    file: { filename: `${at}.txt`, file_data: `data:text/plain;base64,${Buffer.from(text).toString('base64')}` },
  }
})

const withFiles = {
  ...question,
  messages: [{ role: 'user', content: [{ type: 'text', text: 'See these.' }, ...files] }],
}

function requests(tokens: readonly string[]): BenchRequest[] {
  const headers = { 'content-type': 'application/json' }
  const ask = (body: object) =>
    ({ method: 'POST', path: '/v1/chat/completions', headers, tokens, body: JSON.stringify(body) }) as const
  const stream = { stream: true, stream_options: { include_usage: true } }
  const isEnded = (end: string) => end.includes('[DONE]')
  return [
    { ...ask(question), name: 'whole', isWhole: (end) => end.includes('total_tokens') },
    { ...ask({ ...question, ...stream }), name: 'streamed', isWhole: isEnded, timesFirstByte: true },
    { ...ask({ ...withFiles, ...stream }), name: TEN_FILES, isWhole: isEnded },
  ]
}

const TEN_FILES = 'ten files'

const firstByte: Wanted = {
  what: 'first byte at most 2 ms after that of the floor',
  met: ({ request, concurrency, subject, floor }) =>
    request === 'streamed' && concurrency === 1 ? subject.first - floor.first <= 2 : undefined,
}

/** Megabytes that one more or less is not worth a word. */
const FLAT_MB = 10

const flat: Wanted = {
  what: 'as much memory in use after ten files as before',
  met: ({ request, heap }) => (request === TEN_FILES ? heap.after - heap.before <= FLAT_MB : undefined),
}

export const chat: Suite = {
  name: 'chat',
  about:
    'POST /v1/chat/completions with token, usage record and log, beside token look-up, provider call and insert alone',
  open: (world) => openWith(world, requests),
  wanted: [throughput(0.6, (at) => at.request !== TEN_FILES && atOnce(at)), firstByte, flat],
}
