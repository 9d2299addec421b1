import { randomBytes } from 'node:crypto'
import { PNG, upload } from '../kit/rooms/attachments.ts'
import { atOnce, openWith } from './ai-req.ts'
import type { Part } from './part.ts'
import {
  type BenchRequest,
  type Comparison,
  type Contest,
  type Suite,
  throughput,
  type Wanted,
  type World,
} from './suite.ts'

const question = {
  model: 'mock-1',
  messages: [
    { role: 'system', content: 'You answer shortly, and only what was asked.' },
    { role: 'user', content: 'What does it take to answer a question about the weather of tomorrow?' },
  ],
}

/** A conversation of the length that people usually have open. */
const FILE_BYTES = 40_000
const files = Array.from({ length: 10 }, (_, at) => {
  const text = `${at} `.repeat(FILE_BYTES / 2)
  return {
    type: 'file',
    file: { filename: `${at}.txt`, file_data: `data:text/plain;base64,${Buffer.from(text).toString('base64')}` },
  }
})

const about = (files: readonly object[]) => ({
  ...question,
  messages: [{ role: 'user', content: [{ type: 'text', text: 'See these.' }, ...files] }],
})

const buildRequest = (tokens: readonly string[], body: object): Omit<BenchRequest, 'name' | 'isWhole'> => ({
  method: 'POST',
  path: '/v1/chat/completions',
  headers: { 'content-type': 'application/json' },
  tokens,
  body: JSON.stringify(body),
})
const stream = { stream: true, stream_options: { include_usage: true } }
const isEnded = (end: string) => end.includes('[DONE]')

const requests = (tokens: readonly string[]): BenchRequest[] => [
  { ...buildRequest(tokens, question), name: 'whole', isWhole: (end) => end.includes('total_tokens') },
  { ...buildRequest(tokens, { ...question, ...stream }), name: 'streamed', isWhole: isEnded, timesFirstByte: true },
  {
    ...buildRequest(tokens, { model: 'assistant/bench', messages: [asked] }),
    name: BY_ASSISTANT,
    isWhole: (end) => end.includes('total_tokens'),
  },
  { ...buildRequest(tokens, { ...about(files), ...stream }), name: TEN_FILES, isWhole: isEnded },
]

/** The same question, whose instructions are those of an assistant. */
const BY_ASSISTANT = 'by an assistant'
const [instructions, asked] = question.messages

/** Creates an assistant for all callers, as the first of them. */
async function addAssistant({ details, url }: Part): Promise<void> {
  const call = async (name: string, input: object) => {
    const { ok } = await fetch(`${url}/trpc/assistants.${name}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${details['token']}` },
      body: JSON.stringify({ handle: 'bench', ...input }),
    })
    if (!ok) throw new Error(`assistants.${name} was refused`)
  }
  const content = { name: 'Bench', model: question.model, systemPrompt: instructions?.content }
  await call('create', { content, publish: true })
  await call('share', { audience: 'all' })
}

const TEN_FILES = 'ten files'
const TEN_STORED = 'ten stored files'

/** Number of files for ten in each of fifty concurrent calls. */
const STORED_BYTES = 100_000

/** The stored files are pictures, which nobody reads for their text. The floor passes on their names alone: their memory is what counts. */
async function open(world: World): Promise<Contest> {
  const contest = await openWith(world, requests, { abilities: ['ai', 'read', 'write'] })
  const { subject } = contest
  await addAssistant(subject)
  const token = subject.details['token'] ?? ''
  const stored: object[] = []
  for (let at = 0; at < 10; at++) {
    const picture = Buffer.concat([PNG, randomBytes(STORED_BYTES)])
    const { one } = await upload(subject, token, picture, { name: `${at}.png` })
    stored.push({ type: 'file', file: { file_id: one.id } })
  }
  const named = { ...buildRequest([token], { ...about(stored), ...stream }), name: TEN_STORED, isWhole: isEnded }
  // Comes before the files in requests, which need more memory, as a peak stays.
  return { ...contest, requests: contest.requests.toSpliced(-1, 0, named) }
}

const isWithFiles = ({ request }: Comparison) => request === TEN_FILES || request === TEN_STORED

const firstByte: Wanted = {
  what: 'first byte at most 2 ms after that of the floor',
  met: ({ request, concurrency, subject, floor }) =>
    request === 'streamed' && concurrency === 1 ? subject.first - floor.first <= 2 : undefined,
}

/** Difference in megabytes that is ignored. */
const FLAT_MB = 10

const flat: Wanted = {
  what: 'as much memory in use after ten files as before',
  met: (at) => (isWithFiles(at) ? at.heap.after - at.heap.before <= FLAT_MB : undefined),
}

export const chat: Suite = {
  name: 'chat',
  about:
    'POST /v1/chat/completions with token, usage record and log, beside token look-up, provider call and insert alone',
  open,
  wanted: [throughput(0.6, (at) => !isWithFiles(at) && atOnce(at)), firstByte, flat],
}
