import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import {
  answers,
  type Behaviour,
  beginStream,
  behavesInTurn,
  breaksOff,
  buildChunk,
  buildQuestion,
  endStream,
  type ProviderRequest,
  refuses,
  replies,
  stalls,
  startProvider,
  writeConfig,
} from '../../kit/ai/provider.ts'
import { startApp, type TestApp } from '../../kit/app.ts'
import { createApiClient } from '../../kit/json-api/client.ts'
import { SLOW } from '../../kit/service-client.ts'
import { untilRead } from '../../kit/until-read.ts'

const price = (outputPerMillion: number, currency = 'EUR') => ({ currency, inputPerMillion: 1, outputPerMillion })
const byKey = new Map<string, Behaviour>()
const keyOf = ({ headers }: ProviderRequest) => String(headers.authorization).replace('Bearer ', '')

const resources = new AsyncDisposableStack()
let upstream: Awaited<ReturnType<typeof startProvider>>
let svc: TestApp
let token: string
/** The token of a second person, because no circuit opens by the failures of one. */
let otherToken: string

beforeAll(async () => {
  upstream = resources.use(await startProvider((request, response) => byKey.get(keyOf(request))?.(request, response)))
  const config = resources.use(await writeConfig(''))
  const provider = (id: string, models: object[], more: object = {}) => ({
    id,
    adapter: 'openai-compatible',
    apiUrl: upstream.url,
    apiKey: id,
    models,
    circuit: { failures: 1_000_000 },
    ...more,
  })
  await config.write({
    providers: [
      provider('first', [
        { id: 'first', external: true, pricing: price(2), fallback: ['inner', 'dollar', 'small', 'second', 'third'] },
        { id: 'seeing', external: true, input: ['text', 'image'], fallback: ['blind'] },
        { id: 'limited', external: true, pricing: price(2), fallback: ['capped', 'third'] },
      ]),
      provider('late', [{ id: 'late', external: true, pricing: price(2), fallback: ['second'] }], {
        timeouts: { firstByte: '2s' },
      }),
      provider('inner', [{ id: 'inner', pricing: price(1) }]),
      provider('dollar', [{ id: 'dollar', external: true, pricing: price(1, 'USD') }]),
      provider('small', [{ id: 'small', external: true, pricing: price(1), limits: { maxInputTokens: 1 } }]),
      provider('second', [{ id: 'second', external: true, pricing: price(6) }]),
      provider('third', [{ id: 'third', external: true, pricing: price(6) }]),
      provider('mistral', [{ id: 'mistral', external: true, pricing: price(6), fallback: ['second'] }], {
        adapter: 'mistral',
      }),
      provider('capped', [{ id: 'capped', external: true, pricing: price(2) }]),
      provider('blind', [{ id: 'blind', external: true }]),
      ...['1m', '100ms'].map((openFor) =>
        provider(openFor, [{ id: openFor, external: true }], {
          servers: [{ apiKey: `twin of ${openFor}` }],
          circuit: { failures: 1, openFor },
        }),
      ),
      provider('many', [{ id: 'many', external: true }], { servers: [{ apiKey: 'more' }, { apiUrl: upstream.url }] }),
    ],
  })
  svc = resources.use(await startApp({ AI_CONFIG: config.file }))
  token = (await svc.user()).token
  otherToken = (await svc.user()).token
})
afterAll(() => resources[Symbol.asyncDispose]())
beforeEach(() => {
  upstream.requests.length = 0
  byKey.clear()
  for (const key of ['second', 'third', 'many', 'more', 'undefined']) byKey.set(key, answers(`From ${key}.`))
})

const sendQuestion = (model = 'first', headers = {}, as = token) =>
  svc.send('POST', '/api/ai-req', { token: as, headers, body: buildQuestion('How do you do today?', model) })
const streaming = { accept: 'text/event-stream' }
const listUsedKeys = () => upstream.requests.map(keyOf)

async function newest() {
  await svc.services.ai.usageLedger.flush()
  return svc.rows(
    `select provider, model, outcome, cost_micros::int as cost from usage_records
      where request_id = (select request_id from usage_records order by id desc limit 1)`,
  )
}

test.for<[string, object]>([
  ['in one piece', {}],
  ['as a stream', streaming],
])('another model answers %s where the provider cannot, and is billed and named', async ([, headers]) => {
  byKey.set('first', refuses(401))

  const answer = await sendQuestion('first', headers)

  expect(answer.status).toBe(200)
  expect(await answer.text()).toContain(headers === streaming ? '"second."' : 'From second.')
  expect(answer.headers.get('x-answered-by')).toBe('second')
  // Three fallbacks are skipped: one is not for programs, one has another currency, and one has smaller limits.
  expect(listUsedKeys()).toEqual(['first', 'second'])
  expect(await newest()).toEqual([{ provider: 'second', model: 'second', outcome: 'completed', cost: 25 }])
  expect(await svc.rows('select id from usage_holds')).toEqual([])
})

test.for<[string, Behaviour, number]>([
  ['a server that is not well', refuses(500), 3],
  ['a server with too much to do', refuses(529), 3],
  ['a connection that closes', (_, response) => void response.destroy(), 3],
])('another model answers after %s was asked as often as otherwise', async ([, behave, tries]) => {
  byKey.set('first', behave)

  expect(await (await sendQuestion()).json()).toMatchObject({ content: { text: 'From second.' } })
  expect(listUsedKeys()).toEqual([...Array(tries).fill('first'), 'second'])
})

/** Sends an event at the beginning of its stream, before any answer. */
const saysInStream = (data: string) => replies(`data: ${data}\n\n`, { type: 'text/event-stream' })
const refusesInStream = (code: number) => saysInStream(`{"error": {"message": "no", "code": ${code}}}`)

test.for<[string, object]>([
  ['the whole answer', {}],
  ['a document in place of a stream', streaming],
])('another model answers where %s is an error of its provider', async ([, headers]) => {
  byKey.set('first', replies('{"error": {"message": "no", "code": "server_error"}}'))

  expect(await (await sendQuestion('first', headers)).text()).toMatch(/"From second\."|"second\."/)
  expect(listUsedKeys()).toEqual(['first', 'second'])
  expect(await newest()).toMatchObject([{ provider: 'second', outcome: 'completed' }])
})

test.for(
  ['{"error": {"message": "no", "code": 503}}', '[{"error": {"message": "no", "code": 503}}]'].flatMap((body) =>
    ['first', 'mistral'].flatMap((model) =>
      ['application/json', 'text/event-stream', 'text/plain'].map((type) => [body, model, type] as const),
    ),
  ),
)('another model answers where %s is what %s sends in streams, as %s', async ([body, model, type]) => {
  byKey.set(model, replies(body, { type }))

  expect(await (await sendQuestion(model, streaming)).text()).toContain('"second."')
  expect(new Set(listUsedKeys())).toEqual(new Set([model, 'second']))
})

test('another server answers where a document in place of a stream reports failure', async () => {
  const refusal = replies('{"error": {"message": "no", "code": 401}}')
  byKey.set('many', refusal)
  byKey.set('more', refusal)

  for (let count = 0; count < 3; count++)
    expect(await (await sendQuestion('many', streaming)).text()).toContain('"undefined."')
  expect(new Set(listUsedKeys())).toEqual(new Set(['many', 'more', 'undefined']))
})

test.for(
  ['{"error": {"message": "no", "code": 529}}', '[{"error": {"message": "no", "code": 529}}]'].flatMap((data) =>
    ['first', 'mistral'].map((model) => [data, model] as const),
  ),
)('another model answers a stream that begins with %s, an error of %s', async ([data, model]) => {
  byKey.set(model, saysInStream(data))

  expect(await (await sendQuestion(model, streaming)).text()).toContain('"second."')
  expect(new Set(listUsedKeys())).toEqual(new Set([model, 'second']))
  expect(await newest()).toMatchObject([{ provider: 'second', outcome: 'completed' }])
})

test('each fallback is asked after the one before, and the last failure is reported', async () => {
  byKey.set('first', refuses(401))
  byKey.set('second', refuses(404))
  expect(await (await sendQuestion()).json()).toMatchObject({ content: { text: 'From third.' } })

  byKey.set('third', refuses(403))
  const answer = await sendQuestion()

  expect([answer.status, await answer.json()]).toMatchObject([500, { code: 'provider_key_refused' }])
  expect(listUsedKeys().slice(3)).toEqual(['first', 'second', 'third'])
  expect(await newest()).toMatchObject([{ model: 'third', outcome: 'failed', cost: 0 }])
})

test.for<[string, Behaviour]>([
  ['a question that is refused', refuses(400)],
  ['a question that is too long', refuses(413)],
  ['a question that is refused in a stream', refusesInStream(400)],
  ['a question that is refused in place of a stream', replies('{"error": {"message": "no", "code": 400}}')],
  ['an answer that is late', stalls],
  ['an answer that breaks off', breaksOff('reset')],
])('no other model is asked after %s', async ([, behave]) => {
  const model = behave === stalls ? 'late' : 'first'
  byKey.set(model, behave)

  await (await sendQuestion(model, streaming)).text()

  expect(listUsedKeys()).toEqual([model])
  expect(await newest()).toMatchObject([{ model, outcome: 'failed' }])
})

const contentFilter = '{"error": {"message": "no", "code": "content_filter"}}'

test.for<[string, object, Behaviour]>([
  ['in place of a whole answer', {}, replies(contentFilter)],
  ['at the beginning of a stream', streaming, replies(`data: ${contentFilter}\n\n`, { type: 'text/event-stream' })],
  ['in place of a stream', streaming, replies(contentFilter)],
])('no fallback is asked where a content filter refuses %s', async ([, headers, behave]) => {
  byKey.set('first', behave)

  await (await sendQuestion('first', headers)).text()

  expect(listUsedKeys()).toEqual(['first'])
  expect(await newest()).toMatchObject([{ model: 'first', outcome: 'refused' }])
})

/** Sends only the headers of a stream, and breaks off. */
const breaksOffAtOnce: Behaviour = (_, response) => {
  beginStream(response)
  response.flushHeaders()
  return untilRead(response).then(() => void response.destroy())
}

test.for<[string, object]>([
  ['in one piece', {}],
  ['as a stream', streaming],
])('no fallback and no other server is asked after an answer %s broke off', async ([, headers]) => {
  for (const key of ['first', 'many', 'more', 'undefined']) byKey.set(key, breaksOffAtOnce)

  expect((await sendQuestion('first', headers)).status).toBe(500)
  expect(listUsedKeys()).toEqual(['first'])
  expect(await newest()).toEqual([{ provider: 'first', model: 'first', outcome: 'failed', cost: expect.any(Number) }])
  expect(await svc.rows('select input_tokens > 0 as paid from usage_records order by id desc limit 1')).toEqual([
    { paid: true },
  ])

  expect((await sendQuestion('many', headers)).status).toBe(500)
  expect(upstream.requests).toHaveLength(2)
})

test('fallbacks named by an administrator survive synchronisation, for those who may use them', async () => {
  const admin = createApiClient(svc, (await svc.user({ role: 'admin', abilities: ['read', 'write'] })).token)
  const { list } = await admin.get('/ai-models')
  const third = list.find(({ attributes }) => attributes['modelId'] === 'third')
  await admin.update('ai-models', String(third?.id), { fallback: ['inner', 'second'] })
  await svc.host.models.sync()
  byKey.set('third', refuses(401))
  byKey.set('inner', answers('From within.'))

  const answer = await sendQuestion('third')

  expect(await answer.json()).toMatchObject({ content: { text: 'From second.' } })
  expect(listUsedKeys()).toEqual(['third', 'second'])
})

describe('when the database fails between a model and its fallback', () => {
  /** Makes the first reservation for the second model fail. */
  async function failOnce() {
    await svc.rows(`create sequence failures;
      create function fail_once() returns trigger language plpgsql as $$ begin
        if nextval('failures') = 1 then raise exception 'this fails once'; end if;
        return new;
      end $$;
      create trigger fails before insert on usage_holds for each row
        when (new.model = 'second') execute function fail_once()`)
    return {
      async [Symbol.asyncDispose]() {
        await svc.rows('drop trigger fails on usage_holds; drop function fail_once; drop sequence failures')
      },
    }
  }

  test.for<[string, object]>([
    ['in one piece', {}],
    ['as a stream', streaming],
  ])('no reservation remains of a call that was to be answered %s', async ([, headers]) => {
    byKey.set('first', refuses(401))
    await using _ = await failOnce()

    const answer = await sendQuestion('first', headers)

    expect(answer.status).toBe(500)
    expect(answer.headers.get('x-answered-by')).toBeNull()
    expect(listUsedKeys()).toEqual(['first'])
    expect(await newest()).toContainEqual({ provider: 'first', model: 'first', outcome: 'failed', cost: 0 })
    expect(await svc.rows('select id from usage_holds')).toEqual([])
    expect(svc.services.limits.aiBytes.total).toBe(0)
  })
})

test('a model without image input is no fallback for a question with images', async () => {
  byKey.set('first', refuses(401))
  const url =
    'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
  const messages = [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }]

  const answer = await svc.send('POST', '/v1/chat/completions', { token, body: { model: 'seeing', messages } })

  expect(answer.status).toBe(500)
  expect(listUsedKeys()).toEqual(['first'])
})

test('a limit without room for the fallback keeps it from being asked', async () => {
  byKey.set('first', refuses(401))
  await svc.host.limits.set({ name: 'capped', for: 'model:capped', cap: 1, unit: 'tokens', per: 'day' })

  const answer = await sendQuestion('limited')

  expect(await answer.json()).toMatchObject({ content: { text: 'From third.' } })
  expect(listUsedKeys()).toEqual(['first', 'third'])
  await svc.services.ai.usageLedger.flush()
  expect(await svc.rows('select id from usage_counters where used > 0 or held > 0')).toEqual([])
})

test('the least busy key or server of a provider is asked', async () => {
  const over = Promise.withResolvers<void>()
  const waits: Behaviour = async (_, response) => {
    beginStream(response)
    response.write(buildChunk({ delta: { content: 'Well, ' } }))
    await over.promise
    endStream(response)
  }
  for (const key of ['many', 'more', 'undefined']) byKey.set(key, waits)

  const open = []
  for (let count = 0; count < 6; count++) open.push(await sendQuestion('many', streaming))

  expect(listUsedKeys().toSorted()).toEqual(['many', 'many', 'more', 'more', 'undefined', 'undefined'])
  over.resolve()
  for (const answer of open) expect(await answer.text()).toContain('event: done')
})

test('another key of a provider is tried where one is refused', async () => {
  byKey.set('many', refuses(401))
  byKey.set('more', refuses(429))
  for (let count = 0; count < 3; count++)
    expect(await (await sendQuestion('many')).json()).toMatchObject({ content: { text: 'From undefined.' } })
  expect(new Set(listUsedKeys())).toEqual(new Set(['many', 'more', 'undefined']))

  upstream.requests.length = 0
  for (const key of ['many', 'more', 'undefined']) byKey.set(key, refuses(400))
  expect((await sendQuestion('many')).status).toBe(500)
  expect(listUsedKeys()).toHaveLength(1)
})

test('a healthy server is retried after a passing failure beside an open circuit', async () => {
  byKey.set('1m', refuses(500))
  byKey.set('twin of 1m', behavesInTurn(answers('Well.'), answers('Well.'), refuses(429), answers('Well again.')))
  for (const as of [otherToken, token])
    expect(await (await sendQuestion('1m', {}, as)).json()).toMatchObject({ content: { text: 'Well.' } })

  expect(await (await sendQuestion('1m')).json()).toMatchObject({ content: { text: 'Well again.' } })

  expect(listUsedKeys()).toEqual(['1m', 'twin of 1m', '1m', ...Array(3).fill('twin of 1m')])
})

test('a server whose circuit opened is retried later although the other one answers', async () => {
  byKey.set('100ms', refuses(500))
  byKey.set('twin of 100ms', answers('From the twin.'))
  for (const as of [otherToken, token])
    expect(await (await sendQuestion('100ms', {}, as)).json()).toMatchObject({ content: { text: 'From the twin.' } })
  byKey.set('100ms', answers('Back again.'))

  await vi.waitUntil(async () => (await (await sendQuestion('100ms')).text()).includes('Back again.'), SLOW)
})

test('the keys of servers are sealed, and in nothing that anybody reads', async () => {
  const readServerRows = async () =>
    (await svc.rows<{ row: string }>('select s::text as row from provider_servers s order by id')).map(({ row }) => row)
  const before = await readServerRows()
  expect(before.length).toBeGreaterThan(3)
  expect(before.join()).not.toMatch(/more|twin/)
  await svc.host.models.sync()
  expect(await readServerRows()).toEqual(before)
})
