import { Readable } from 'node:stream'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { adapterDrivers } from '../../server/ai/adapters.ts'
import type { ModelConnection } from '../../server/ai/chat-model.ts'
import { toFinishReason } from '../../server/ai/finish-reason.ts'
import { collectStream } from '../../server/ai/generate-result.ts'
import { fromSdkUsage } from '../../server/ai/reported-usage.ts'
import {
  completionStreams,
  type GeneratedStream,
  generateDialectStreams,
  type ReadAnswer,
} from '../kit/ai/stream-grammar.ts'

const RUNS = 5000
const SEED = Number(process.env['FUZZ_SEED'] ?? Date.now() % 2 ** 31)
const head = { statusCode: 200, headers: {} }

/** Builds a connection to a provider that answers with these bytes. */
function connectionTo(pieces: readonly Uint8Array[]): ModelConnection {
  const unused = async () => {
    throw new Error('it is not used')
  }
  return {
    apiUrl: 'http://127.0.0.1/v1',
    apiKey: 'none',
    continuousUsage: false,
    extraMembers: {},
    fetch: unused,
    send: async () => ({ ...head, body: Readable.from(pieces.filter(({ length }) => length > 0)) }),
    read: async () => ({ ...head, text: Buffer.concat(pieces).toString() }),
  }
}

const options = (adapter: string) => ({
  prompt: [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'Hello' }] }],
  tools: ['find', 'now'].map((name) => ({ type: 'function' as const, name, inputSchema: { type: 'object' as const } })),
  maxOutputTokens: 100,
  ...(adapter === 'openai chat' && { seed: 1 }),
})

async function read(adapter: string, pieces: readonly Uint8Array[], isStream: boolean): Promise<Partial<ReadAnswer>> {
  const driver = adapterDrivers[adapter.split(' ')[0] as keyof typeof adapterDrivers]
  const model = driver.model('m', connectionTo(pieces))
  try {
    const settings = options(adapter)
    const answer = isStream
      ? await collectStream((await model.doStream(settings)).stream)
      : await model.doGenerate(settings)
    const textOf = (type: 'text' | 'reasoning') =>
      answer.content.map((part) => (part.type === type ? part.text : '')).join('')
    const { input = 0, output = 0 } = fromSdkUsage(answer.usage)
    const end = toFinishReason(answer.finishReason)
    if (!end) return { end: 'error' }
    return {
      text: textOf('text'),
      thoughts: textOf('reasoning'),
      end,
      tokens: [input, output],
      calls: answer.content.flatMap((part): ReadAnswer['calls'] =>
        part.type === 'tool-call' ? [[part.toolName, part.input]] : [],
      ),
    }
  } catch {
    return { end: 'error' }
  }
}

/** Expects the same reading for any pieces, both streamed and whole. */
async function holds(adapter: string, { pieces, expected }: GeneratedStream): Promise<void> {
  const right = expected.end === 'error' ? { end: 'error' } : expected
  expect(await read(adapter, pieces, true)).toEqual(right)
  expect(await read(adapter, [Buffer.concat(pieces)], true)).toEqual(right)
  expect(await read(adapter, pieces, false)).toEqual(right)
}

const check = (streams: fc.Arbitrary<GeneratedStream>, adapter: string, numRuns: number) =>
  fc.assert(
    fc.asyncProperty(streams, (stream) => holds(adapter, stream)),
    { numRuns, seed: SEED, interruptAfterTimeLimit: 600_000 },
  )

test.for(['openai-compatible', 'mistral', 'openai chat'])(
  'a completion that %s reads is the same for every cut of its bytes',
  { timeout: 700_000 },
  (adapter) => check(completionStreams, adapter, RUNS / 5),
)

test.for(['openai', 'anthropic', 'google', 'openai-compatible'])(
  'an answer in the dialect of %s survives any cut of its bytes',
  { timeout: 700_000 },
  (adapter) => check(generateDialectStreams(adapter), adapter, RUNS / 10),
)
