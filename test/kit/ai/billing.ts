import type { ServerResponse } from 'node:http'
import { expect, vi } from 'vitest'
import { SLOW } from '../service-client.ts'
import { untilRead } from '../until-read.ts'
import type { TokenCounts } from './dialects/dialect.ts'
import { parseEvents } from './event-stream.ts'
import { buildModel, buildProvider, startWithConfig } from './model-config.ts'
import { type Behaviour, beginStream, buildQuestion, type ProviderRequest, stalls, startProvider } from './provider.ts'
import { type TokenScript, tokenScripts } from './token-scripts.ts'

/** Words of four letters each, so that provider and service count the same tokens. */
const words = ['one ', 'and ', 'two ', 'and ', 'six ']
const text = 'How do you do?'
export const PROMPT_TOKENS = 4

export const NO_TOKENS: TokenCounts = { input: 0, output: 0, cached: 0, cacheWrite: 0, reasoning: 0 }

/** The tokens that the provider has counted so far. */
export const tokenCounts: TokenCounts = { ...NO_TOKENS }

/** Streams a thought and so many words, and counts each piece as a token. */
export function streamsWords(
  script: TokenScript,
  wordCount: number,
  then: (response: ServerResponse, request: ProviderRequest) => unknown,
): Behaviour {
  return async (request, response) => {
    const { thoughts, cacheWrite } = script.counts
    Object.assign(tokenCounts, {
      input: PROMPT_TOKENS,
      output: 0,
      cached: 2,
      cacheWrite: cacheWrite ? 1 : 0,
      reasoning: 0,
    })
    beginStream(response)
    response.write(script.begin(tokenCounts))
    if (thoughts && wordCount > 0) {
      Object.assign(tokenCounts, { output: 1, reasoning: 1 })
      response.write(script.thought(tokenCounts, request))
    }
    for (const word of words.slice(0, wordCount)) {
      tokenCounts.output += 1
      response.write(script.word(word, tokenCounts, request))
      // Each word arrives by itself.
      await untilRead(response)
    }
    await then(response, request)
  }
}

/** Timeouts that are too short: for the first byte, or for the whole answer. */
const shortTimeouts = { firstByte: { firstByte: '1500ms' }, total: { total: '2500ms' } }
type ShortTimeout = keyof typeof shortTimeouts

const modelName = (script: TokenScript, limit?: ShortTimeout) => `${script.name} ${limit ?? ''}`.trim()

/** Starts a service with a provider for each script, whose behaviour a test sets, and reads its usage records. */
export async function startBilling() {
  await using resources = new AsyncDisposableStack()
  const upstream = resources.use(await startProvider(stalls))
  const providerOf = (script: TokenScript, limit?: ShortTimeout) =>
    buildProvider(
      modelName(script, limit),
      [buildModel(modelName(script, limit), { limits: { maxOutputTokens: 3 } })],
      {
        adapter: script.adapter,
        apiUrl: upstream.url,
        apiKey: 'provider-key',
        ...script.provider,
        ...(limit && { timeouts: shortTimeouts[limit] }),
      },
    )
  const providers = tokenScripts.flatMap((script) => [
    providerOf(script),
    providerOf(script, 'firstByte'),
    providerOf(script, 'total'),
  ])
  const demo = { id: 'demo', adapter: 'demo', models: [buildModel('demo')] }
  const { svc } = resources.use(
    await startWithConfig({ providers: [...providers, demo], systemModels: { default: 'demo' } }),
  )
  const disposables = resources.move()

  async function records() {
    await svc.services.ai.usageLedger.flush()
    return svc.rows(
      `select outcome, estimated, input_tokens as input, output_tokens as output, cached_tokens as cached,
              cache_write_tokens as "cacheWrite", reasoning_tokens as reasoning from usage_records`,
    )
  }

  return {
    upstream,
    limits: svc.host.limits,
    records,
    /** Sets the behaviour of the provider for the next question. */
    answerBy(next: Behaviour) {
      upstream.behave = next
      upstream.requests.length = 0
    },
    /** Returns a function that asks as a new person, by a script and with a short timeout where one is named. */
    async createSender(script: TokenScript | 'demo', limit?: ShortTimeout) {
      const { token } = await svc.user()
      const body = buildQuestion(text, script === 'demo' ? script : modelName(script, limit))
      return (signal?: AbortSignal, accept = 'text/event-stream') =>
        svc.send('POST', '/api/ai-req', { token, headers: { accept }, body, ...(signal && { signal }) })
    },
    /** Returns the only usage record and deletes it, so that a late record fails the next test. */
    async record() {
      await vi.waitFor(async () => expect(await records()).not.toEqual([]), { ...SLOW, interval: 5 })
      const [record, ...more] = await records()
      expect(more).toEqual([])
      await svc.rows('delete from usage_records')
      return record
    },
    [Symbol.asyncDispose]: () => disposables.disposeAsync(),
  }
}

export type Billing = Awaited<ReturnType<typeof startBilling>>
export type SendQuestion = Awaited<ReturnType<Billing['createSender']>>

/** The record of an answer that ended before its provider reported the total. */
export function buildInterruptedRecord(script: TokenScript, outcome: string) {
  if (script.tells === 'everything') return { outcome, estimated: false, ...tokenCounts }
  const unknown = script.tells === 'nothing' && { cached: 0, cacheWrite: 0 }
  return { outcome, estimated: true, ...tokenCounts, ...unknown }
}

/** Asks, and disconnects after so many words. */
export async function disconnectAfter(
  { upstream }: Billing,
  sendQuestion: SendQuestion,
  wordCount: number,
): Promise<void> {
  const abort = new AbortController()
  const reading = sendQuestion(abort.signal).then(async (response) => {
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
    let read = ''
    while (parseEvents(read).length < wordCount) {
      const { value } = (await reader?.read()) ?? {}
      if (value === undefined) throw new Error(`the answer ended after ${parseEvents(read).length} words`)
      read += value
    }
  })
  if (wordCount > 0) await reading
  else await vi.waitFor(() => expect(upstream.requests).toHaveLength(1), { ...SLOW, interval: 5 })
  abort.abort()
  await reading.catch(() => undefined)
}
