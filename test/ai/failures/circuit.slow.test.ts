import { once } from 'node:events'
import { createServer } from 'node:net'
import { afterEach, expect, test, vi } from 'vitest'
import { createClient, type SvcError } from '../../../facades/client/index.ts'
import { FileReadError } from '../../../routers/ports/ai/prompt-files.ts'
import { CircuitBreaker } from '../../../server/ai/circuit.ts'
import { ProviderStatusError } from '../../../server/ai/provider-errors.ts'
import {
  answers,
  type Behaviour,
  beginStream,
  behavesInTurn,
  breaksOff,
  buildQuestion,
  canary,
  refuses,
  replies,
  stalls,
  startProvider,
  writeConfig,
} from '../../kit/ai/provider.ts'
import { startApp, type TestUser } from '../../kit/app.ts'
import { advanceClock } from '../../kit/clock.ts'
import { findFreePort } from '../../kit/free-port.ts'
import { SLOW } from '../../kit/service-client.ts'
import { shareResource } from '../../kit/share-resource.ts'

afterEach(() => vi.useRealTimers())

const streaming = { accept: 'text/event-stream' }

const upstream = shareResource(startProvider)
const config = shareResource(() => writeConfig(upstream.url))
const svc = shareResource(() => startApp({ AI_CONFIG: config.file }))

let count = 0

/** Sets up a provider for one test, and two people who call it. */
async function startWith(behave: Behaviour, provider: { circuit: object; timeouts?: object; apiUrl?: string }) {
  const id = `model-${++count}`
  const [own] = config.config.providers
  const models = [{ id, label: id, external: true }]
  await config.write({ providers: [{ ...own, id: `of ${id}`, ...provider, models }], systemModels: {} })
  await svc.host.models.sync()
  upstream.behave = behave
  upstream.requests.length = 0
  const sendQuestion = ({ token }: TestUser, headers: Record<string, string> = {}, signal?: AbortSignal) =>
    svc.send('POST', '/api/ai-req', { token, headers, body: buildQuestion('Hello', id), ...(signal && { signal }) })
  const [ada, bob] = [await svc.user(), await svc.user()]
  const logStart = svc.log.length
  /** Lets both people meet three failures each. */
  const openCircuit = async () => {
    for (const person of [ada, bob]) expect((await sendQuestion(person)).status).toBe(500)
  }
  return { model: id, sendQuestion, openCircuit, ada, bob, log: () => svc.log.slice(logStart).join('') }
}

const tooBig = Buffer.alloc(65 * 1024 * 1024, ' ')

const failuresOfOneUser: [string, Behaviour, Record<string, string>][] = [
  ['an error of the provider', refuses(502), {}],
  ['too many requests', refuses(429), {}],
  ['a refused key', refuses(401), {}],
  ['a time-out of its own', refuses(408), {}],
  ['an error inside a stream', breaksOff('error'), streaming],
  ['a stream that begins with an error', replies('data: {"error":{"message":"no"}}\n\n'), streaming],
  ['an answer that is not JSON', replies('<html>'), {}],
  ['an answer of another form', replies('{}'), {}],
  ['no answer in time', stalls, {}],
  ['a connection that closes before an answer', (_, response) => void response.destroy(), {}],
  [
    'an answer that stops in its middle',
    (_, response) => {
      beginStream(response)
      response.flushHeaders()
    },
    streaming,
  ],
  ['an answer that is too big', (_, response) => void response.end(tooBig), {}],
]

test.for(failuresOfOneUser)(
  'the circuit of a provider stays closed for others when one user provokes %s',
  async ([, behave, headers]) => {
    // Bob's answer must be in time on a busy machine, too.
    const timeouts = { firstByte: '3s' }
    const app = await startWith(behave, { circuit: { failures: 2, openFor: '1m' }, timeouts })
    for (let count = 0; count < 2; count++) await (await app.sendQuestion(app.ada, headers)).text()
    upstream.behave = answers('For Bob.')

    const response = await app.sendQuestion(app.bob)

    expect(await response.json()).toEqual({ success: true, content: { text: 'For Bob.' } })
  },
)

test('the circuit of a provider opens when two people meet errors of the provider', async () => {
  const app = await startWith(refuses(502), { circuit: { failures: 3, openFor: '1m' } })
  await app.openCircuit()
  upstream.behave = answers('Nobody hears this.')

  for (const headers of [{}, streaming]) {
    const response = await app.sendQuestion(await svc.user(), headers)

    expect([response.status, await response.json()]).toMatchObject([500, { code: 'provider_paused' }])
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(30)
  }
  expect(upstream.requests).toHaveLength(6)
})

test('a program of the service is told when a paused provider is asked again', async () => {
  const app = await startWith(refuses(502), { circuit: { failures: 3, openFor: '1m' } })
  await app.openCircuit()
  const client = createClient({ url: svc.url, token: app.ada.token })
  const question = { model: app.model, messages: [{ role: 'user' as const, content: { text: 'Hello' } }] }

  const error = await client.ai.ask.mutate(question).catch((thrown: unknown) => thrown as SvcError)

  expect(error).toMatchObject({ code: 'provider_paused', retryAt: expect.any(Date) })
  const { retryAt } = error as SvcError
  expect(retryAt?.getTime()).toBeGreaterThan(Date.now())
})

test('the circuit of a provider opens when no connection can be made', async () => {
  const port = await findFreePort()
  const apiUrl = `http://127.0.0.1:${port}/v1`
  const app = await startWith(stalls, { circuit: { failures: 3, openFor: '1m' }, apiUrl })
  expect((await app.sendQuestion(app.ada)).status).toBe(500)
  let connections = 0
  const late = createServer((socket) => {
    connections++
    socket.destroy()
  }).listen(port, '127.0.0.1')
  await once(late, 'listening')

  expect((await app.sendQuestion(app.bob)).status).toBe(500)

  expect(connections).toBe(0)
  late.close()
})

test('the circuit of a provider opens when several people wait in vain', async () => {
  const app = await startWith(stalls, { circuit: { failures: 2, openFor: '1m' }, timeouts: { firstByte: '1s' } })
  const people = [app.ada, app.bob, await svc.user(), await svc.user()]
  for (const person of people) expect((await app.sendQuestion(person)).status).toBe(500)
  upstream.behave = answers('Nobody hears this.')

  expect((await app.sendQuestion(app.ada)).status).toBe(500)
  expect(upstream.requests).toHaveLength(4)
})

test('the circuit of a provider stays closed when tokens of waiting callers end', async () => {
  const app = await startWith(stalls, { circuit: { failures: 2, openFor: '1m' } })
  const people = [app.ada, app.bob, await svc.user(), await svc.user()]
  const calls = people.map((person) => app.sendQuestion(person))
  await vi.waitFor(() => expect(upstream.requests).toHaveLength(4), SLOW)
  for (const { id, token } of people)
    await svc.host.tokens.revokeFor({ user: { id }, tokenId: Number(token.split('_')[1]) })
  expect((await Promise.all(calls)).map(({ status }) => status)).toEqual([401, 401, 401, 401])
  upstream.behave = answers('Still here.')

  const response = await app.sendQuestion(await svc.user())

  expect(await response.json()).toEqual({ success: true, content: { text: 'Still here.' } })
})

test('the circuit of a provider lets one probe through while other calls fail', async () => {
  const app = await startWith(refuses(500), { circuit: { failures: 3, openFor: '1m' } })
  await app.openCircuit()
  const answer = Promise.withResolvers<void>()
  upstream.behave = async (request, response) => {
    await answer.promise
    await answers('Back again.')(request, response)
  }
  advanceClock(60_001)
  const probe = app.sendQuestion(app.ada)
  await vi.waitFor(() => expect(upstream.requests).toHaveLength(7), SLOW)

  // The probe is answered only afterwards, so a call that waited for it would never end.
  const others = await Promise.all([
    app.sendQuestion(app.bob),
    app.sendQuestion(app.bob, streaming),
    app.sendQuestion(app.ada),
  ])

  expect(others.map(({ status }) => status)).toEqual([500, 500, 500])
  expect(upstream.requests).toHaveLength(7)
  answer.resolve()
  expect(await (await probe).json()).toEqual({ success: true, content: { text: 'Back again.' } })
  expect((await app.sendQuestion(app.bob)).status).toBe(200)
})

test('the circuit of a provider opens again when its probe times out', async () => {
  const app = await startWith(refuses(500), {
    circuit: { failures: 3, openFor: '1m' },
    timeouts: { firstByte: '1s' },
  })
  await app.openCircuit()
  upstream.behave = stalls
  advanceClock(60_001)
  expect((await app.sendQuestion(app.bob)).status).toBe(500)

  expect((await app.sendQuestion(app.ada)).status).toBe(500)
  expect(upstream.requests).toHaveLength(7)
})

test("the circuit of a provider stays open when its probe's caller goes away", async () => {
  const app = await startWith(refuses(500), { circuit: { failures: 3, openFor: '1m' } })
  await app.openCircuit()
  upstream.behave = stalls
  advanceClock(60_001)
  const controller = new AbortController()
  const probe = app.sendQuestion(app.bob, {}, controller.signal).catch(() => undefined)
  await vi.waitFor(() => expect(upstream.requests).toHaveLength(7), SLOW)
  controller.abort()
  await probe
  await vi.waitFor(() => expect(upstream.requests[6]?.abortedAt).toBeDefined(), SLOW)

  expect((await app.sendQuestion(app.ada)).status).toBe(500)
  expect(upstream.requests).toHaveLength(7)
})

test('the circuit of a provider stays open when its probe fails early', async () => {
  const { signal } = new AbortController()
  const guard = new CircuitBreaker({ failures: 1, openFor: 1 }, { onChange() {}, onRetry() {}, onAnswer() {} })
  const fail = (error: Error, userId = 1) => guard.run(() => Promise.reject(error), { userId, signal })
  for (const userId of [1, 2]) await expect(fail(new ProviderStatusError(503), userId)).rejects.toThrow()
  await vi.waitFor(() => expect(guard.isRejecting).toBe(false), SLOW)

  await expect(fail(new FileReadError('gone'))).rejects.toThrow(FileReadError)

  expect(guard.isBroken).toBe(true)
})

test('the circuit of a provider opens again when its probe fails', async () => {
  const { signal } = new AbortController()
  const guard = new CircuitBreaker({ failures: 1, openFor: 1 }, { onChange() {}, onRetry() {}, onAnswer() {} })
  const fail = (error: Error, userId = 1) => guard.run(() => Promise.reject(error), { userId, signal })
  const silence = () => Object.assign(new Error('silence'), { phase: 'waiting' })
  for (const userId of [1, 2, 3]) await expect(fail(silence(), userId)).rejects.toThrow()
  await vi.waitFor(() => expect(guard.isRejecting).toBe(false), SLOW)

  await expect(fail(new ProviderStatusError(503))).rejects.toThrow(ProviderStatusError)

  expect(guard.isBroken).toBe(true)
})

/** Refuses with a `Retry-After` header. */
const refusesUntil =
  (retryAfter: () => string, status = 429): Behaviour =>
  (_, response) =>
    void response.writeHead(status, { 'retry-after': retryAfter() }).end(canary)

const inAnHour = () => new Date(Date.now() + 3_600_000).toUTCString()

test.for<[string, Behaviour, code: string]>([
  ['too many requests, and minutes', refusesUntil(() => '120'), 'provider_rate_limited'],
  ['too many requests, and a date', refusesUntil(inAnHour), 'provider_rate_limited'],
  ['that it is not available, and minutes', refusesUntil(() => '120', 503), 'provider_failed'],
])('a provider that sends Retry-After is not retried in the same call: %s', async ([, behave, code]) => {
  const app = await startWith(behavesInTurn(behave, answers('Too soon.')), { circuit: { failures: 100 } })

  for (const headers of [{}, streaming]) {
    const before = upstream.requests.length
    upstream.behave = behavesInTurn(behave, answers('Too soon.'))
    const response = await app.sendQuestion(app.ada, headers)

    expect([response.status, await response.json()]).toMatchObject([500, { code }])
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(100)
    expect(upstream.requests).toHaveLength(before + 1)
  }
  expect(app.log()).toContain('"statusCode":')
  expect(app.log()).not.toContain(canary)
})

test('a provider that sends a short Retry-After is asked again after that time', async () => {
  let notBefore = Number.POSITIVE_INFINITY
  const first: Behaviour = (request, response) => {
    // Timers may fire a few milliseconds early.
    notBefore = Date.now() + 990
    return refusesUntil(() => '1')(request, response)
  }
  const then: Behaviour = (request, response) =>
    (Date.now() < notBefore ? refusesUntil(() => '120') : answers('Now.'))(request, response)
  const app = await startWith(behavesInTurn(first, then), { circuit: { failures: 100 } })

  const response = await app.sendQuestion(app.ada)

  expect(await response.json()).toEqual({ success: true, content: { text: 'Now.' } })
  expect(upstream.requests).toHaveLength(2)
})
