import { pipeline } from 'node:stream/promises'
import { afterAll, afterEach, expect, test, vi } from 'vitest'
import { joinDeltas, parseEvents } from '../kit/ai/event-stream.ts'
import {
  answers,
  type Behaviour,
  beginStream,
  behavesInTurn,
  breaksOff,
  buildChunk,
  buildQuestion,
  canary,
  endStream,
  neverEnds,
  refuses,
  replies,
  stalls,
  writeConfig,
} from '../kit/ai/provider.ts'
import { providerFailures, readUsageRecords, startWithProvider, streamHeaders } from '../kit/ai/provider-service.ts'
import { startApp } from '../kit/app.ts'
import { advanceClock } from '../kit/clock.ts'
import { findFreePort } from '../kit/free-port.ts'
import { SLOW } from '../kit/service-client.ts'

/** Returns the record of a failure: a timeout and an unreadable answer are billed, as the provider worked on them. */
const paidFor = (name: string, behave: Behaviour) => ({
  outcome: 'failed',
  input: behave === stalls || (name.startsWith('answers') && !name.includes('502')) ? 2 : 0,
  output: name.includes('half') ? 6 : 0,
})

const circuit = { failures: 1000 }

/** Shared by all tests except those of the circuit breaker. */
const app = await startWithProvider(stalls, { circuit })
/** The same for a provider that falls silent: on a busy machine any other answer may be as late. */
const hasty = await startWithProvider(stalls, { circuit, timeouts: { firstByte: '1500ms' } })
afterAll(async () => {
  await app[Symbol.asyncDispose]()
  await hasty[Symbol.asyncDispose]()
})
const appFor = (behave: Behaviour) => (behave === stalls ? hasty : app)
afterEach(() => vi.useRealTimers())

const codesByName: readonly [RegExp, string][] = [
  [/refuses with 401/, 'provider_key_refused'],
  [/refuses with 404/, 'provider_model_unknown'],
  [/refuses with 429/, 'provider_rate_limited'],
  [/answers with a page and 502/, 'provider_failed'],
  [/answers with/, 'provider_broke_off'],
]

/** Returns the code for the cause of the failure. */
function codeOf(name: string): string {
  return codesByName.find(([words]) => words.test(name))?.[1] ?? 'provider_failed'
}

test.for(providerFailures)('a provider that %s is a 500 that says nothing of it', async ([name, behave]) => {
  const app = appFor(behave)
  await app.answerBy(behave)

  const response = await app.sendQuestion()

  expect(response.status).toBe(500)
  const text = await response.text()
  const wouldAgain = /refuses with 400|redirects/.test(name)
  const code = codeOf(name)
  const untold = wouldAgain
    ? 'The AI provider did not take the request.'
    : 'The AI provider did not answer. Try again later.'
  expect(JSON.parse(text)).toEqual({
    success: false,
    message: code === 'provider_failed' ? untold : expect.any(String),
    code,
    requestId: response.headers.get('x-request-id'),
  })
  expect(app.svc.log.join('')).not.toContain(canary)
  expect(app.svc.log.join('')).toContain(response.headers.get('x-request-id'))
  expect(await app.takeRecords()).toEqual([paidFor(name, behave)])
})

test.for(providerFailures)('a provider that %s is a plain 500 where a stream was asked for', async ([name, behave]) => {
  const app = appFor(behave)
  await app.answerBy(behave)

  const response = await app.sendQuestion(streamHeaders)

  expect(response.status).toBe(500)
  expect(response.headers.get('content-type')).toMatch(/^application\/json/)
  expect(await response.json()).toMatchObject({ success: false, code: codeOf(name) })
  expect(app.svc.log.join('')).not.toContain(canary)
  expect(await app.takeRecords()).toEqual([paidFor(name, behave)])
})

test('a provider that is not there is a 500, and the service goes on', async () => {
  await using config = await writeConfig(`http://127.0.0.1:${await findFreePort()}/v1`)
  await using svc = await startApp({ AI_CONFIG: config.file })
  const { token } = await svc.user()

  const response = await svc.send('POST', '/api/ai-req', { token, body: buildQuestion() })

  expect(response.status).toBe(500)
  expect(await response.json()).toMatchObject({ code: 'provider_failed' })
  expect(await readUsageRecords(svc)).toMatchObject([{ outcome: 'failed' }])
  expect((await svc.send('GET', '/api/user', { token })).status).toBe(200)
})

test.for(['reset', 'end', 'error'] as const)(
  'a provider that breaks off its stream (%s) ends ours with an error',
  async (how) => {
    await app.answerBy(breaksOff(how))

    const response = await app.sendQuestion(streamHeaders)

    expect(response.status).toBe(200)
    const text = await response.text()
    const events = parseEvents(text)
    expect(events.map(({ event }) => event)).toEqual(['delta', 'error'])
    expect(joinDeltas(events)).toBe('Half an ')
    expect(events.at(-1)?.data).toEqual({
      code: 'provider_broke_off',
      message: 'The answer of the AI provider broke off, or could not be read. Try again later.',
      requestId: response.headers.get('x-request-id'),
    })
    expect(text + app.svc.log.join('')).not.toContain(canary)
    expect(app.upstream.requests).toHaveLength(1)
    const [record, ...more] = await app.takeRecords()
    expect(more).toEqual([])
    expect(record?.outcome).toBe('failed')
    expect(record?.output).toBeGreaterThan(0)
  },
)

test('a provider that falls silent within its stream ends ours with an error', async () => {
  const behave: Behaviour = (_, response) => {
    beginStream(response)
    response.write(buildChunk({ delta: { content: 'Half an ' } }))
  }
  await hasty.answerBy(behave)

  const events = parseEvents(await (await hasty.sendQuestion(streamHeaders)).text())

  expect(events.map(({ event }) => event)).toEqual(['delta', 'error'])
})

test('a provider that is slow throughout is cut off by the total timeout', async () => {
  await using app = await startWithProvider(neverEnds, { timeouts: { total: '4s' } })

  const events = parseEvents(await (await app.sendQuestion(streamHeaders)).text())

  expect(events.at(0)?.event).toBe('delta')
  expect(events.at(-1)?.event).toBe('error')
  await vi.waitFor(() => expect(app.upstream.requests[0]?.abortedAt).toBeDefined(), SLOW)
  expect(await app.takeRecords()).toMatchObject([{ outcome: 'failed' }])
})

test('a provider with impossible counts is recorded, and so is everybody else', async () => {
  const impossible = { prompt_tokens: 1e15, completion_tokens: -3.5, total_tokens: 1 }
  const body = {
    choices: [{ message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
    usage: impossible,
  }
  await app.answerBy(behavesInTurn(replies(JSON.stringify(body)), answers('Hi')))

  expect((await app.sendQuestion()).status).toBe(200)
  expect((await app.sendQuestion()).status).toBe(200)

  const records = await app.takeRecords()
  expect(records.map(({ outcome }) => outcome)).toEqual(['completed', 'completed'])
  expect(records[1]).toMatchObject({ input: 7, output: 3 })
})

test.for<[string, Behaviour]>([
  ['a refusal for the moment', refuses(503)],
  ['too many requests', refuses(429)],
  ['a closed connection', (_, response) => void response.destroy()],
])('another try follows %s', async ([, fault]) => {
  await app.answerBy(behavesInTurn(fault, answers('Now.')))

  const response = await app.sendQuestion()

  expect(response.status).toBe(200)
  expect(await response.json()).toEqual({ success: true, content: { text: 'Now.' } })
  expect(app.upstream.requests).toHaveLength(2)
  expect(await app.takeRecords()).toMatchObject([{ outcome: 'completed', input: 7, output: 3 }])
})

test('another try follows before the first byte of a stream', async () => {
  await app.answerBy(behavesInTurn(refuses(503), refuses(503), answers('Now.')))

  const events = parseEvents(await (await app.sendQuestion(streamHeaders)).text())

  expect(joinDeltas(events)).toBe('Now.')
  expect(app.upstream.requests).toHaveLength(3)
  expect(await app.takeRecords()).toHaveLength(1)
})

test('a stream under way goes on where the configuration of its provider changes', async () => {
  const changed = Promise.withResolvers<void>()
  const waits: Behaviour = async (_, response) => {
    beginStream(response)
    response.write(buildChunk({ delta: { content: 'Half an answer' } }))
    await changed.promise
    response.write(buildChunk({ delta: { content: ', and the rest.' } }))
    endStream(response)
  }
  await app.answerBy(behavesInTurn(waits, answers('By another client.')))
  const stream = await app.sendQuestion(streamHeaders)

  await app.svc.changeCatalogue(`update ai_providers set settings = jsonb_set(settings, '{circuit,failures}', '1001')`)
  expect(await (await app.sendQuestion()).json()).toMatchObject({ content: { text: 'By another client.' } })
  changed.resolve()

  expect(joinDeltas(parseEvents(await stream.text()))).toBe('Half an answer, and the rest.')
  expect(await app.takeRecords()).toMatchObject([{ outcome: 'completed' }, { outcome: 'completed' }])
})

test('another try is the last after two', async () => {
  await app.answerBy(refuses(503))

  expect((await app.sendQuestion()).status).toBe(500)
  expect(app.upstream.requests).toHaveLength(3)
})

test('another try does not follow a refusal for good', async () => {
  await app.answerBy(refuses(400))

  await app.sendQuestion()

  expect(app.upstream.requests).toHaveLength(1)
})

test('another try does not follow once something was delivered', async () => {
  await app.answerBy(breaksOff('reset'))

  await (await app.sendQuestion(streamHeaders)).text()

  expect(app.upstream.requests).toHaveLength(1)
})

test('a provider that keeps failing is skipped for a while, then asked again', async () => {
  await using app = await startWithProvider(refuses(500), { circuit: { failures: 3, openFor: '1m' } })
  const { token: other } = await app.svc.user()
  expect((await app.svc.send('POST', '/api/ai-req', { token: other, body: buildQuestion() })).status).toBe(500)
  expect((await app.sendQuestion()).status).toBe(500)
  expect(app.upstream.requests).toHaveLength(6)

  const skipped = await app.sendQuestion()

  expect(skipped.status).toBe(500)
  expect(await skipped.json()).toMatchObject({ code: 'provider_paused' })
  expect(Number(skipped.headers.get('retry-after'))).toBeGreaterThan(30)
  expect((await app.sendQuestion(streamHeaders)).status).toBe(500)
  expect(app.upstream.requests).toHaveLength(6)

  app.upstream.behave = answers('Back again.')
  advanceClock(60_001)

  expect(await (await app.sendQuestion()).json()).toEqual({ success: true, content: { text: 'Back again.' } })
  expect((await app.sendQuestion()).status).toBe(200)
  expect(await app.takeRecords()).toHaveLength(6)
})

test.for(['openai-compatible', 'openai'])(
  'a provider of the kind %s with an endless refusal is cut off',
  async (adapter) => {
    let sent = 0
    const floods: Behaviour = async (_, response) => {
      const pieces = function* () {
        for (; ; sent += 65_536) yield Buffer.alloc(65_536, 'x')
      }
      await pipeline(pieces, response.writeHead(400)).catch(() => undefined)
    }
    await using app = await startWithProvider(floods, { adapter })

    for (const headers of [{}, streamHeaders]) {
      await app.answerBy(floods)
      sent = 0
      expect((await app.sendQuestion(headers)).status).toBe(500)
      await vi.waitFor(() => expect(app.upstream.requests[0]?.abortedAt).toBeDefined(), SLOW)
      // The buffers on the way hold far less than the longest answer.
      expect(sent).toBeLessThan(32 * 1024 * 1024)
    }
  },
)

test('a provider that keeps failing is not blamed for questions it refuses', async () => {
  await using app = await startWithProvider(refuses(400), { circuit: { failures: 2, openFor: '1m' } })

  for (let count = 0; count < 4; count++) await app.sendQuestion()

  expect(app.upstream.requests).toHaveLength(4)
})

test('a provider that keeps failing is not blamed for callers who go away', async () => {
  await using app = await startWithProvider(stalls, { circuit: { failures: 2, openFor: '1m' } })
  for (let count = 0; count < 3; count++) {
    const controller = new AbortController()
    const pendingCall = app.sendQuestion({}, controller.signal).catch(() => undefined)
    await vi.waitFor(() => expect(app.upstream.requests).toHaveLength(count + 1), SLOW)
    controller.abort()
    await pendingCall
    await vi.waitFor(() => expect(app.upstream.requests[count]?.abortedAt).toBeDefined(), SLOW)
  }
  app.upstream.behave = answers('Here.')

  expect((await app.sendQuestion()).status).toBe(200)
})
