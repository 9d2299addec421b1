import { once } from 'node:events'
import { createServer } from 'node:net'
import { afterEach, expect, test, vi } from 'vitest'
import { UnreadFile } from '../../../routers/ports/ai/stored-bytes.ts'
import { Guard } from '../../../server/ai/failures/circuit.ts'
import { Refusal } from '../../../server/ai/failures/refusal.ts'
import {
  answers,
  type Behaviour,
  beginStream,
  breaksOff,
  canary,
  configFor,
  inTurn,
  question,
  refuses,
  replies,
  stalls,
  startProvider,
} from '../../kit/ai/provider.ts'
import { startApp, type TestUser } from '../../kit/app.ts'
import { later } from '../../kit/clock.ts'
import { freePort } from '../../kit/free-port.ts'
import { SLOW } from '../../kit/started.ts'

afterEach(() => vi.useRealTimers())

const streaming = { accept: 'text/event-stream' }

/** A service with one provider that behaves so, and two people who ask it. */
async function startWith(behave: Behaviour, circuit: object, timeouts: object = {}) {
  await using resources = new AsyncDisposableStack()
  const upstream = resources.use(await startProvider(behave))
  const config = resources.use(await configFor(upstream.url, { provider: { circuit, timeouts } }))
  const svc = resources.use(await startApp({ AI_CONFIG: config.file }))
  const askAs = ({ token }: TestUser, headers: Record<string, string> = {}, signal?: AbortSignal) =>
    svc.send('POST', '/api/ai-req', { token, headers, body: question(), ...(signal && { signal }) })
  const [ada, bob] = [await svc.user({ username: 'ada' }), await svc.user({ username: 'bob' })]
  const kept = resources.move()
  return { svc, upstream, askAs, ada, bob, [Symbol.asyncDispose]: () => kept.disposeAsync() }
}

const asksOneUserMay: [string, Behaviour, Record<string, string>][] = [
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
  ['an answer that is too big', (_, response) => void response.end(' '.repeat(65 * 1024 * 1024)), {}],
]

test.for(asksOneUserMay)(
  'the circuit of a provider stays closed for others when one user provokes %s',
  async ([, behave, headers]) => {
    await using app = await startWith(behave, { failures: 2, openFor: '1m' }, { firstByte: '1s' })
    for (let count = 0; count < 2; count++) await (await app.askAs(app.ada, headers)).text()
    app.upstream.behave = answers('For Bob.')

    const response = await app.askAs(app.bob)

    expect(await response.json()).toEqual({ success: true, content: { text: 'For Bob.' } })
  },
)

test('the circuit of a provider opens when the provider fails by its own word', async () => {
  await using app = await startWith(refuses(502), { failures: 3, openFor: '1m' })
  expect((await app.askAs(app.ada)).status).toBe(500)
  app.upstream.behave = answers('Nobody hears this.')

  const response = await app.askAs(app.bob)

  expect([response.status, await response.json()]).toMatchObject([500, { code: 'provider_failed' }])
  expect(app.upstream.asked).toHaveLength(3)
})

test('the circuit of a provider opens when nobody is there to connect to', async () => {
  const port = await freePort()
  await using config = await configFor(`http://127.0.0.1:${port}/v1`, {
    provider: { circuit: { failures: 3, openFor: '1m' } },
  })
  await using svc = await startApp({ AI_CONFIG: config.file })
  const { token } = await svc.user()
  expect((await svc.send('POST', '/api/ai-req', { token, body: question() })).status).toBe(500)
  let connections = 0
  const late = createServer((socket) => {
    connections++
    socket.destroy()
  }).listen(port, '127.0.0.1')
  await once(late, 'listening')

  expect((await svc.send('POST', '/api/ai-req', { token, body: question() })).status).toBe(500)

  expect(connections).toBe(0)
  late.close()
})

test('the circuit of a provider opens when several people wait in vain', async () => {
  await using app = await startWith(stalls, { failures: 2, openFor: '1m' }, { firstByte: '250ms' })
  const people = [app.ada, app.bob, await app.svc.user(), await app.svc.user()]
  for (const person of people) expect((await app.askAs(person)).status).toBe(500)
  app.upstream.behave = answers('Nobody hears this.')

  expect((await app.askAs(app.ada)).status).toBe(500)
  expect(app.upstream.asked).toHaveLength(4)
})

test('the circuit of a provider lets one call probe the provider while the others fail at once', async () => {
  await using app = await startWith(refuses(500), { failures: 3, openFor: '1m' })
  await app.askAs(app.ada)
  const answer = Promise.withResolvers<void>()
  app.upstream.behave = async (asked, response) => {
    await answer.promise
    await answers('Back again.')(asked, response)
  }
  later(60_001)
  const probe = app.askAs(app.ada)
  await vi.waitFor(() => expect(app.upstream.asked).toHaveLength(4), SLOW)

  // Only then may the probe be answered: who waited for it would wait for ever.
  const others = await Promise.all([app.askAs(app.bob), app.askAs(app.bob, streaming), app.askAs(app.ada)])

  expect(others.map(({ status }) => status)).toEqual([500, 500, 500])
  expect(app.upstream.asked).toHaveLength(4)
  answer.resolve()
  expect(await (await probe).json()).toEqual({ success: true, content: { text: 'Back again.' } })
  expect((await app.askAs(app.bob)).status).toBe(200)
})

test('the circuit of a provider opens again when its probe waits in vain, whoever asked', async () => {
  await using app = await startWith(refuses(500), { failures: 3, openFor: '1m' }, { firstByte: '250ms' })
  await app.askAs(app.ada)
  app.upstream.behave = stalls
  later(60_001)
  expect((await app.askAs(app.bob)).status).toBe(500)

  expect((await app.askAs(app.ada)).status).toBe(500)
  expect(app.upstream.asked).toHaveLength(4)
})

test('the circuit of a provider stays open when the caller of its probe goes away before an answer', async () => {
  await using app = await startWith(refuses(500), { failures: 3, openFor: '1m' })
  await app.askAs(app.ada)
  app.upstream.behave = stalls
  later(60_001)
  const gone = new AbortController()
  const probe = app.askAs(app.bob, {}, gone.signal).catch(() => undefined)
  await vi.waitFor(() => expect(app.upstream.asked).toHaveLength(4), SLOW)
  gone.abort()
  await probe
  await vi.waitFor(() => expect(app.upstream.asked[3]?.abortedAt).toBeDefined(), SLOW)

  expect((await app.askAs(app.ada)).status).toBe(500)
  expect(app.upstream.asked).toHaveLength(4)
})

test('the circuit of a provider stays open when its probe fails before the provider has spoken', async () => {
  const by = { userId: 1, signal: new AbortController().signal }
  const guard = new Guard({ failures: 1, openFor: 1 }, { onChange() {}, onAnswer() {} })
  const failing = (error: Error) => guard.once(() => Promise.reject(error), by)
  await expect(failing(new Refusal(503))).rejects.toThrow()
  await vi.waitFor(() => expect(guard.isOpen).toBe(false), SLOW)

  await expect(failing(new UnreadFile('gone'))).rejects.toThrow(UnreadFile)

  expect(guard.isBroken).toBe(true)
})

/** Refuses, and says when to come again. */
const refusesUntil =
  (retryAfter: () => string, status = 429): Behaviour =>
  (_, response) =>
    void response.writeHead(status, { 'retry-after': retryAfter() }).end(canary)

const inAnHour = () => new Date(Date.now() + 3_600_000).toUTCString()

test.for<[string, Behaviour]>([
  ['too many requests, and minutes', refusesUntil(() => '120')],
  ['too many requests, and a date', refusesUntil(inAnHour)],
  ['that it is not available, and minutes', refusesUntil(() => '120', 503)],
])('a provider that says when to ask again is not asked again for the same call: %s', async ([, behave]) => {
  await using app = await startWith(inTurn(behave, answers('Too soon.')), { failures: 100 })

  for (const headers of [{}, streaming]) {
    const before = app.upstream.asked.length
    app.upstream.behave = inTurn(behave, answers('Too soon.'))
    const response = await app.askAs(app.ada, headers)

    expect([response.status, await response.json()]).toMatchObject([500, { code: 'provider_failed' }])
    expect(response.headers.get('retry-after')).toBeNull()
    expect(app.upstream.asked).toHaveLength(before + 1)
  }
  expect(app.svc.log.join('')).toContain('"statusCode":')
  expect(app.svc.log.join('')).not.toContain(canary)
})

test('a provider that says when to ask again is asked again once the time is over, where that is soon', async () => {
  let notBefore = Number.POSITIVE_INFINITY
  const first: Behaviour = (asked, response) => {
    // A timer may be a few milliseconds early.
    notBefore = Date.now() + 990
    return refusesUntil(() => '1')(asked, response)
  }
  const then: Behaviour = (asked, response) =>
    (Date.now() < notBefore ? refusesUntil(() => '120') : answers('Now.'))(asked, response)
  await using app = await startWith(inTurn(first, then), { failures: 100 })

  const response = await app.askAs(app.ada)

  expect(await response.json()).toEqual({ success: true, content: { text: 'Now.' } })
  expect(app.upstream.asked).toHaveLength(2)
})
