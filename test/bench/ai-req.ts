import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Ability } from '../../entities/identity/access-token.ts'
import type { SubjectInput } from './subject.ts'
import {
  type BenchRequest,
  type Comparison,
  type Contest,
  memory,
  type Suite,
  throughput,
  type Wanted,
  type World,
} from './suite.ts'

const body = JSON.stringify({
  payload: {
    model: 'mock-1',
    messages: [
      { role: 'system', content: { text: 'You answer shortly, and only what was asked.' } },
      { role: 'user', content: { text: 'What does it take to answer a question about the weather of tomorrow?' } },
    ],
  },
})

export function questionRequests(tokens: readonly string[]): BenchRequest[] {
  const common = { method: 'POST', path: '/api/ai-req', body, tokens } as const
  const headers = { 'content-type': 'application/json' }
  return [
    { ...common, name: 'whole', headers, isWhole: (end) => end.includes('think of it."}}') },
    {
      ...common,
      name: 'streamed',
      headers: { ...headers, accept: 'text/event-stream' },
      isWhole: (end) => end.includes('event: done'),
    },
  ]
}

interface ServiceOptions {
  limits?: readonly object[]
  /** The abilities of the tokens, if not the usual ones. */
  abilities?: readonly Ability[]
  /** Settings, as in the environment, beside the usual ones. */
  more?: Record<string, string>
}

export async function openWith(
  { databaseUrl, folder, start }: World,
  requests: (tokens: readonly string[]) => BenchRequest[],
  { limits = [], abilities, more }: ServiceOptions = {},
): Promise<Contest> {
  const upstream = await start('upstream.ts', {})
  const config = join(folder, 'ai.json')
  await writeFile(config, JSON.stringify(configFor(upstream.url)))
  const limitsFile = join(folder, 'limits.json')
  await writeFile(limitsFile, JSON.stringify({ limits }))
  const files = { AI_CONFIG: config, LIMITS: limitsFile }
  const settings = { DATABASE_URL: databaseUrl, DATA_DIR: join(folder, 'data'), ...files, PORT: '0', ...more }
  const subject = await start<SubjectInput>('subject.ts', {
    settings,
    temporaryDir: folder,
    ...(abilities && { abilities }),
  })
  const floor = await start('floor.ts', { databaseUrl, upstreamUrl: upstream.url })
  return { subject, floor, requests: requests((subject.details['tokens'] ?? '').split(' ')) }
}

const open = (world: World, limits: readonly object[] = []) => openWith(world, questionRequests, { limits })

const configFor = (apiUrl: string) => ({
  providers: [
    {
      id: 'bench',
      adapter: 'openai-compatible',
      apiUrl,
      apiKey: 'bench',
      models: [
        {
          id: 'mock-1',
          external: true,
          input: ['text', 'image'],
          limits: { maxInputTokens: 128_000 },
          pricing: { currency: 'EUR', inputPerMillion: 0.4, outputPerMillion: 1.6 },
        },
      ],
    },
  ],
  systemModels: { default: 'mock-1' },
})

const p99: Wanted = {
  what: 'added p99 under 2 times the floor',
  met: ({ concurrency, subject, floor }) => (concurrency === 10 ? subject.p99 - floor.p99 < 2 * floor.p99 : undefined),
}

export const atOnce = ({ concurrency }: Comparison) => concurrency >= 10

export const aiReq: Suite = {
  name: 'ai-req',
  about: 'POST /api/ai-req with token, usage record and log, beside token look-up, provider call and insert alone',
  open: (world) => open(world),
  wanted: [throughput(0.6, atOnce), p99, memory],
}

const p99WithLimits: Wanted = {
  what: 'p99 at most 2 times that of the floor',
  met: (at) => (atOnce(at) ? at.subject.p99 <= 2 * at.floor.p99 : undefined),
}

/** A cap that is never reached, so that every call is reserved and none refused. */
const everybody = { name: 'everybody', for: 'installation', cap: 1_000_000_000, unit: 'requests', per: 'month' }

export const fiveLimits: Suite = {
  name: 'five-limits',
  about: 'the same with five limits that apply to every call: requests, tokens and money, of all and of each',
  open: (world) =>
    open(world, [
      everybody,
      { ...everybody, name: 'provider', for: 'provider', unit: 'EUR' },
      { ...everybody, name: 'model', for: 'model', unit: 'tokens', per: 'day' },
      { ...everybody, name: 'person', for: 'user', unit: 'tokens', per: 'hour' },
      { ...everybody, name: 'token', for: 'token', per: 'hour' },
    ]),
  wanted: [throughput(0.45, atOnce), p99WithLimits],
}

export const sharedLimit: Suite = {
  name: 'shared-limit',
  about: 'the same with one limit that everybody shares',
  open: (world) => open(world, [everybody]),
  wanted: [throughput(0.4, atOnce), p99WithLimits],
}
