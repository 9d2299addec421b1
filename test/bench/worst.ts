import { request } from 'undici'
import { buildWorstInputs } from '../kit/inputs/worst-inputs.ts'
import type { Part } from './part.ts'
import type { SubjectInput } from './subject.ts'
import type { World } from './suite.ts'

/** The cost of one worst-case request for the process that answered it. */
export interface Effort {
  what: string
  status: number
  /** Bytes of the answer. */
  answer: number
  /** Longest block of the event loop, in milliseconds. */
  delay: number
  /** Growth of the peak memory in megabytes. */
  growth: number
  /** Milliseconds of processor time. */
  cpu: number
  /** Checks that at most so many are measured, instead of a delay and a growth. */
  maxCpu?: number
}

export const MAX_DELAY = 100
export const MAX_GROWTH = 50

const ROUNDS = 3

/** A body of 20 MB of escapes costs at most so many times what `JSON.parse` of the same bytes does. */
const ESCAPES_BYTES = 20 * 1024 * 1024
const MAX_PARSES = 5
const escapes = {
  quotes: '\\"',
  backslashes: '\\\\',
  'code units': '\\u0061',
  underscores: '\\u005f',
  'line breaks': 'text \\n',
}

interface Target {
  what: string
  method: 'POST' | 'PATCH'
  path: string
  type?: string
  /** Members that the input knows. */
  names: readonly string[]
  bytes: number
  bodyOf(input: string): string
}

const KB = 1024
const bare = (input: string) => input
const document = (type: string) => (input: string) => `{"data":{"type":"${type}","id":"2","attributes":${input}}}`
const jsonApi = 'application/vnd.api+json'
const base = '/api/svc/v1'
const questionMembers = ['model', 'messages']
const keychain = ['clean', 'publicKey', 'set', 'remove']

/** The largest bodies there are, on every surface, and the smallest. */
const targets: Target[] = [
  {
    what: 'ai-req',
    method: 'POST',
    path: '/api/ai-req',
    names: questionMembers,
    bytes: 2048 * KB,
    bodyOf: (input) => `{"payload":${input}}`,
  },
  { what: 'tRPC ai.ask', method: 'POST', path: '/trpc/ai.ask', names: questionMembers, bytes: 2048 * KB, bodyOf: bare },
  {
    what: 'tRPC batch',
    method: 'POST',
    path: `/trpc/${Array(50).fill('ai.ask').join()}?batch=1`,
    names: questionMembers,
    bytes: 40 * KB,
    bodyOf: (input) => `{${Array.from({ length: 50 }, (_, index) => `"${index}":${input}`).join()}}`,
  },
  {
    what: 'keychain',
    method: 'POST',
    path: `${base}/user-keychain-values/actions/batch-update`,
    names: keychain,
    bytes: 5600 * KB,
    bodyOf: bare,
  },
  {
    what: 'user',
    method: 'PATCH',
    path: `${base}/users/2`,
    type: jsonApi,
    names: ['displayName', 'bio', 'avatar', 'role'],
    bytes: 2900 * KB,
    bodyOf: document('users'),
  },
  {
    what: 'model',
    method: 'POST',
    path: `${base}/ai-models`,
    type: jsonApi,
    names: ['modelId', 'input', 'parameters', 'flags', 'pricing'],
    bytes: 64 * KB,
    bodyOf: document('ai-models'),
  },
  { what: 'login', method: 'POST', path: '/req/login', names: ['account', 'password'], bytes: 16 * KB, bodyOf: bare },
]

/** Sends the worst of each shape, one at a time, to a service that does nothing else. */
export async function* measureWorst({ databaseUrl, folder, start }: World): AsyncGenerator<Effort> {
  const settings = { DATABASE_URL: databaseUrl, DATA_DIR: `${folder}/data`, PORT: '0' }
  const subject = await start<SubjectInput>('subject.ts', { settings, temporaryDir: folder, isAdministrator: true })
  for (const target of targets) {
    for (const [shape, input] of Object.entries(buildWorstInputs(target.names, target.bytes - 200))) {
      const body = target.bodyOf(input)
      const efforts: Effort[] = []
      // The first one also compiles what it runs.
      for (let round = 0; round <= ROUNDS; round++)
        efforts.push({ what: `${target.what}: ${shape}`, ...(await send(subject, target, body)) })
      yield median(efforts.slice(1))
    }
  }
  yield* measureEscapes(subject)
}

/** Sends questions of escapes to a missing model, so that only parsing is measured. */
async function* measureEscapes(subject: Part): AsyncGenerator<Effort> {
  const target = {
    what: 'chat',
    method: 'POST',
    path: '/v1/chat/completions',
    names: [],
    bytes: 0,
    bodyOf: bare,
  } as const
  for (const [shape, piece] of Object.entries(escapes)) {
    const content = piece.repeat((ESCAPES_BYTES - 100) / piece.length)
    const body = `{"model":"none","messages":[{"role":"user","content":"${content}"}]}`
    const efforts: Effort[] = []
    const parses: number[] = []
    for (let round = 0; round <= ROUNDS; round++) {
      efforts.push({ what: `chat: 20 MB of ${shape}`, ...(await send(subject, target, body)) })
      const { user } = process.cpuUsage()
      JSON.parse(body)
      parses.push((process.cpuUsage().user - user) / 1000)
    }
    const parse = parses.slice(1).toSorted((a, b) => a - b)[1] ?? 0
    yield { ...median(efforts.slice(1)), maxCpu: MAX_PARSES * parse }
  }
}

async function send(subject: Part, { method, path, type = 'application/json' }: Target, body: string) {
  await subject.watch()
  const authorization = path === '/req/login' ? {} : { authorization: `Bearer ${subject.details['token']}` }
  const headers = { 'content-type': type, ...authorization }
  const answer = await request(subject.url + path, { method, headers, body })
  const text = await answer.body.text()
  return { status: answer.statusCode, answer: text.length, ...(await subject.seen()) }
}

/** Returns the medians of the measurements; other members are those of the first. */
export function median(efforts: Effort[]): Effort {
  const middle = Math.floor(efforts.length / 2)
  const of = (key: 'delay' | 'growth' | 'cpu') =>
    efforts.map((effort) => effort[key]).toSorted((a, b) => a - b)[middle] ?? 0
  return { ...(efforts[0] as Effort), delay: of('delay'), growth: of('growth'), cpu: of('cpu') }
}

function columns(cells: readonly string[]): string {
  return `${cells.map((cell, index) => (index === 0 ? cell.padEnd(66) : cell.padStart(10))).join(' ')}\n`
}

export const worstHeading = heading(
  'worst: what one request of the worst shape does to everybody else',
  'request',
  'bytes',
)

export const extractionHeading = heading(
  'files-extract: what reading the text of a file does to the process that answers everybody else',
  'file',
  'asked',
)

function heading(about: string, what: string, answer: string): string {
  return `\n${about}\n\n${columns([what, 'status', answer, 'CPU ms', 'delay ms', 'growth MB', ''])}`
}

export const isMet = ({ delay, growth, cpu, maxCpu }: Effort) =>
  maxCpu === undefined ? delay < MAX_DELAY && growth < MAX_GROWTH : cpu <= maxCpu

export const worstRow = (effort: Effort) =>
  columns([
    effort.what,
    `${effort.status}`,
    `${effort.answer}`,
    effort.cpu.toFixed(1),
    effort.delay.toFixed(1),
    effort.growth.toFixed(1),
    isMet(effort) ? '' : 'NOT MET',
  ])
