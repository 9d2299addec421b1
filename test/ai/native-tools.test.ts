import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { beginsToSay, messageOf, pageOf, says } from '../kit/ai/anthropic.ts'
import { type Asked, type Behaviour, beginStream, configFor, json, startProvider } from '../kit/ai/provider.ts'
import { startApp, type TestApp } from '../kit/app.ts'

const url = 'https://example.org/chess'
const title = 'Chess'
const search = 'capability:web_search:native'
const fetching = 'capability:web_fetch:native'

const data = (...events: object[]) => events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')
const named = (...events: { type: string; [member: string]: unknown }[]) =>
  events.map((event) => `event: ${event.type}\n${data(event)}`).join('')

/** How a provider that searches the web is asked for it, and tells of it. */
interface Dialect {
  tools: object[]
  whole: object
  events: string
}

const annotation = { type: 'url_citation', start_index: 0, end_index: 5, url, title }
const called = { type: 'web_search_call', id: 'ws', status: 'completed', action: { type: 'search', query: 'chess' } }
/** By the same kind of item it reads in what it found, which it does not bill. */
const read = { ...called, id: 'read', action: { type: 'open_page', url } }
const message = { type: 'message', id: 'msg', role: 'assistant', status: 'completed' }
const spoken = { ...message, content: [{ type: 'output_text', text: 'It is e4.', annotations: [annotation] }] }
const response = { id: 'resp', object: 'response', created_at: 1, model: 'up' }
const responseUsage = { input_tokens: 70, output_tokens: 9 }

const openai: Dialect = {
  tools: [{ type: 'web_search' }],
  whole: { ...response, status: 'completed', output: [called, read, spoken], usage: responseUsage },
  events: named(
    { type: 'response.created', response },
    { type: 'response.output_item.added', output_index: 0, item: { ...called, status: 'in_progress' } },
    { type: 'response.output_item.done', output_index: 0, item: called },
    { type: 'response.output_item.added', output_index: 1, item: { ...read, status: 'in_progress' } },
    { type: 'response.output_item.done', output_index: 1, item: read },
    { type: 'response.output_item.added', output_index: 2, item: message },
    { type: 'response.output_text.delta', item_id: 'msg', output_index: 2, delta: 'It is e4.' },
    {
      ...{ type: 'response.output_text.annotation.added', item_id: 'msg', output_index: 2, content_index: 0 },
      ...{ annotation_index: 0, annotation },
    },
    { type: 'response.output_item.done', output_index: 2, item: spoken },
    { type: 'response.completed', response: { ...response, usage: responseUsage } },
  ),
}

const use = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'chess' } }
const found = [{ type: 'web_search_result', url, title, encrypted_content: 'sealed', page_age: null }]
const result = { type: 'web_search_tool_result', tool_use_id: use.id, content: found }
const anthropicUsage = { input_tokens: 70, output_tokens: 9, server_tool_use: { web_search_requests: 1 } }
const answer = { type: 'text', text: 'It is e4.' }
const ending = { stop_reason: 'end_turn', usage: anthropicUsage }

const anthropic: Dialect = {
  tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 5 }],
  ...messageOf([use, result, answer], ending),
}

const candidate = {
  ...{ index: 0, content: { role: 'model', parts: [{ text: 'It is e4.' }] }, finishReason: 'STOP' },
  groundingMetadata: {
    groundingChunks: [{ web: { uri: url, title } }],
    webSearchQueries: ['chess', '', 'openings', 'chess'],
  },
}
const grounded = { candidates: [candidate], usageMetadata: { promptTokenCount: 70, candidatesTokenCount: 9 } }

const google: Dialect = { tools: [{ googleSearch: {} }], whole: grounded, events: data(grounded) }

const dialects = { openai, anthropic, google }

const fetch = { type: 'server_tool_use', id: 'srvtoolu_2', name: 'web_fetch', input: { url } }
const page = pageOf(fetch.id, url, 'e4 is best.')
const fetchUsage = { input_tokens: 70, output_tokens: 9, server_tool_use: { web_fetch_requests: 1 } }

const pricing = { currency: 'EUR', inputPerMillion: 10, outputPerMillion: 30 }
/** What each asks beside tokens, in units of a thousand uses. */
const useRates: Record<string, object> = {
  openai: { webSearchPerThousand: 10 },
  anthropic: { webSearchPerThousand: 10, webFetchPerThousand: 0.5 },
  google: { groundedPromptPerThousand: 35 },
}
const bills: Record<string, object> = {
  openai: { searches: 1, fetches: 0, cost: 70 * 10 + 9 * 30 + 10_000 },
  anthropic: { searches: 1, fetches: 0, cost: 70 * 10 + 9 * 30 + 10_000 },
  // Two different queries, and one price for the request.
  google: { searches: 2, fetches: 0, cost: 70 * 10 + 9 * 30 + 35_000 },
}

/** The same providers, asked to fetch a page. */
const fetchers: Record<string, Dialect> = {
  anthropic: {
    tools: [{ type: 'web_fetch_20250910', name: 'web_fetch', max_uses: 5, max_content_tokens: 25_000 }],
    ...messageOf([fetch, page, answer], { ...ending, usage: fetchUsage }),
  },
  google: (() => {
    const { groundingMetadata: _, ...said } = candidate
    const status = (retrievedUrl: string, urlRetrievalStatus: string) => ({ retrievedUrl, urlRetrievalStatus })
    const urlMetadata = [
      status(url, 'URL_RETRIEVAL_STATUS_SUCCESS'),
      status('https://example.org/gone', 'URL_RETRIEVAL_STATUS_ERROR'),
    ]
    const whole = { ...grounded, candidates: [{ ...said, urlContextMetadata: { urlMetadata } }] }
    return { tools: [{ urlContext: {} }], whole, events: data(whole) }
  })(),
}

const answers: Behaviour = ({ path, body }, response) => {
  const { whole, events } = dialectOf(path, body)
  if (!body.stream && !path.includes('stream')) return json(response, whole)
  beginStream(response)
  response.end(events)
}

function dialectOf(path: string, { tools }: Asked['body']): Dialect {
  const adapter = path.split('/')[2] as keyof typeof dialects
  const isFetching = /web_fetch|urlContext/.test(JSON.stringify(tools))
  return (isFetching && fetchers[adapter]) || dialects[adapter]
}

const resources = new AsyncDisposableStack()
let svc: TestApp
let upstream: Awaited<ReturnType<typeof startProvider>>
let token: string

beforeAll(async () => {
  upstream = resources.use(await startProvider(answers))
  const config = resources.use(await configFor(upstream.url))
  const providerOf = (adapter: string) => {
    const model = {
      ...{ external: true, tools: ['weather'], pricing: { ...pricing, ...useRates[adapter] } },
      nativeCapabilities: ['web_search', 'web_fetch', 'code_execution'],
    }
    const models = [
      {
        ...{ ...model, id: adapter, upstreamId: adapter === 'google' ? 'gemini-2.5-flash' : 'up' },
        fallback: adapter === 'anthropic' ? ['anthropic unpriced', 'google'] : [],
      },
      { ...model, id: `${adapter} without`, nativeCapabilities: [] },
      { ...model, id: `${adapter} unpriced`, pricing },
      { ...model, id: `${adapter} off`, settings: { nativeCapabilities: false } },
    ]
    return { id: adapter, adapter, apiUrl: `${upstream.url}/${adapter}`, apiKey: 'key', models }
  }
  await config.write({ providers: [...Object.keys(dialects), 'openai-compatible'].map(providerOf) })
  svc = resources.use(
    await startApp({
      AI_CONFIG: config.file,
      EXTENSIONS: 'test/fixtures/extension.ts',
      LIMITS_MAX_OUTPUT_TOKENS: '100',
    }),
  )
  token = (await svc.user()).token
})
afterAll(() => resources.disposeAsync())
beforeEach(() => {
  upstream.behave = answers
  upstream.asked.length = 0
})

const send = (path: string, body: object) => svc.send('POST', path, { token, body })
const messages = [{ role: 'user', content: 'Which opening is best?' }]
const chat = (model: string, tools: unknown[], more: object = {}) =>
  send('/v1/chat/completions', { model, messages, tools, ...more })

async function takeRecords() {
  await svc.services.usageLedger.flush()
  return svc.rows(`delete from usage_records returning outcome, input_tokens as input, output_tokens as output,
                     web_searches as searches, web_fetches as fetches, cost_micros::float8 as cost`)
}

const fn = { type: 'function', function: { name: 'own', parameters: { type: 'object', properties: {} } } }

test.for(Object.entries(dialects))(
  'a model of the kind %s searches the web, and its answer cites what it found',
  async ([model, { tools }]) => {
    for (const reference of [search, 'capability:web_search:auto', `${search}:{}`]) {
      const whole = await chat(model, [reference])
      const streamed = await (await chat(model, [reference], { stream: true })).text()

      expect(await whole.json()).toMatchObject({
        choices: [
          {
            message: { content: 'It is e4.', annotations: [{ url_citation: { url, title } }] },
            finish_reason: 'stop',
          },
        ],
      })
      expect(streamed).toContain('"content":"It is e4."')
      expect(streamed.match(/"url_citation":\{"url":"https:\/\/example.org\/chess"/g)).toHaveLength(1)
      expect(streamed).not.toContain('tool_calls')
      const asked = upstream.asked.splice(0).map(({ body }) => body)
      const bound = model === 'openai' ? 5 : undefined
      expect(asked.map((body) => body['max_tool_calls'])).toEqual([bound, bound])
      expect(asked.map((body) => body.tools)).toEqual(
        [tools, tools].map((all) => all.map((one) => expect.objectContaining(one))),
      )
      const record = { outcome: 'completed', input: 70, output: 9, ...bills[model] }
      expect(await takeRecords()).toEqual([record, record])
    }
  },
)

test.for(Object.entries(fetchers))(
  'a model of the kind %s reads a page, and its answer cites it',
  async ([model, { tools }]) => {
    const whole = await chat(model, [fetching])
    const streamed = await (await chat(model, ['capability:web_fetch:auto'], { stream: true })).text()

    expect(await whole.json()).toMatchObject({
      choices: [{ message: { content: 'It is e4.', annotations: [{ url_citation: { url } }] }, finish_reason: 'stop' }],
    })
    expect(streamed).toContain('"content":"It is e4."')
    expect(streamed.match(/"url_citation":\{"url":"[^"]*"/g)).toEqual([`"url_citation":{"url":"${url}"`])
    expect(streamed).not.toContain('tool_calls')
    for (const stream of [false, true]) {
      const told = await (await send('/v1/responses', { model, input: 'Hello', tools: [fetching], stream })).text()
      expect(told).toContain(`"type":"url_citation","url":"${url}"`)
    }
    expect(upstream.asked.map(({ body }) => body.tools)).toEqual([tools, tools, tools, tools])
    const cost = 70 * 10 + 9 * 30 + (model === 'anthropic' ? 500 : 0)
    const record = { outcome: 'completed', input: 70, output: 9, searches: 0, fetches: 1, cost }
    expect(await takeRecords()).toEqual([record, record, record, record])
  },
)

test('a search is known to the database while the answer runs, and billed when it breaks off', async () => {
  const { promise: isHeld, resolve: breakOff } = Promise.withResolvers<void>()
  upstream.behave = async (asked, response) => {
    beginsToSay([use, result, answer], anthropicUsage)(asked, response)
    await isHeld
    response.destroy()
  }

  const streamed = await chat('anthropic', [search], { stream: true })
  const held = () => svc.rows('select id from usage_holds where web_searches = 1 and cost_micros > 10000')
  await vi.waitUntil(async () => (await held()).length === 1, { timeout: 15_000 })
  breakOff()
  await streamed.text()

  // Nine are our count of what it found.
  expect(await takeRecords()).toMatchObject([{ outcome: 'failed', input: 79, searches: 1, fetches: 0 }])
})

test('what was found is billed as input when the answer breaks off, a page as no more than it may be long', async () => {
  const text = 'e4 is best. '.repeat(10_000)
  const told = async (...read: Parameters<typeof beginsToSay>[0]) => {
    upstream.behave = async (asked, response) => {
      beginsToSay(read, anthropicUsage)(asked, response)
      response.write('\n', () => response.destroy())
    }
    await (await chat('anthropic', [search, fetching], { stream: true })).text()
    const [record] = await takeRecords()
    return record as { input: number; outcome: string }
  }

  expect(await told(fetch, pageOf(fetch.id, url, text))).toMatchObject({ outcome: 'failed', input: 70 + 25_000 })
  const { input: ofDocument } = await told(fetch, pageOf(fetch.id, url, 'A'.repeat(100_000), 'application/pdf'))
  expect(Math.floor(ofDocument / 100)).toBe((2 * 1500) / 100)
  const sealed = { ...result, content: found.map((one) => ({ ...one, encrypted_content: 'A'.repeat(16_000) })) }
  const { input: ofSearch } = await told(use, sealed)
  expect(Math.floor(ofSearch / 100)).toBe(3000 / 100)
})

test('an answer is not cut where it found more than was held for, and the next one is refused', async () => {
  const { token } = await svc.user()
  const limit = { name: 'finder', for: 'user', unit: 'tokens', per: 'day', cap: 1000 } as const
  const ask = () =>
    svc.send('POST', '/v1/chat/completions', {
      token,
      body: { model: 'anthropic', messages, tools: [search], stream: true },
    })
  const counted = { ...anthropicUsage, input_tokens: 5000, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 }
  const sealed = { ...result, content: found.map((one) => ({ ...one, encrypted_content: 'A'.repeat(16_000) })) }
  upstream.behave = says([use, sealed, answer], { ...ending, usage: counted })

  await svc.host.limits.set(limit)
  const told = await (await ask()).text()
  expect(told).toContain('"content":"It is e4."')
  expect(told).toContain('"finish_reason":"stop"')
  await svc.services.usageLedger.flush()
  expect((await ask()).status).toBe(429)
  await svc.host.limits.remove({ name: 'finder' })
  expect(await takeRecords()).toMatchObject([{ outcome: 'completed', input: 5000, searches: 1 }])
})

test('a model of which nobody knows what its searches cost does not stand in for one that says so', async () => {
  upstream.behave = (asked, response) =>
    asked.path.includes('/anthropic/') ? json(response, {}, 401) : answers(asked, response)

  expect((await chat('anthropic', [search])).status).toBe(200)

  expect(upstream.asked.map(({ path }) => path.split('/')[2])).toEqual(['anthropic', 'google'])
  expect(await takeRecords()).toMatchObject([{ searches: 2, cost: 970 + 35_000 }])

  upstream.asked.length = 0
  expect((await chat('anthropic', [])).status).toBe(200)

  expect(upstream.asked.map(({ body }) => body.model)).toEqual(['up', 'anthropic unpriced', undefined])
  await takeRecords()
})

test('a limit in money holds for all searches that may come and counts those that came, where their price is known', async () => {
  const limit = { name: 'purse', for: 'user', unit: 'EUR', per: 'month' } as const
  const ada = await svc.user()
  const bob = await svc.user()
  const ask = (model: string, tools: string[], who = ada) =>
    svc.send('POST', '/v1/chat/completions', { token: who.token, body: { model, messages, tools } })
  const summary = async (who: { token: string }) => {
    await svc.services.usageLedger.flush()
    const told = await svc.send('GET', '/trpc/usage.summary', { token: who.token })
    return ((await told.json()) as { result: { data: object[] } }).result.data
  }

  // Five searches are 0.05, and a hundred tokens 0.003.
  await svc.host.limits.set({ ...limit, cap: 0.05 })
  expect((await ask('anthropic', [search])).status).toBe(429)
  expect((await ask('anthropic', [])).status).toBe(200)
  await svc.host.limits.set({ ...limit, cap: 0.08 })
  expect((await ask('anthropic', [search])).status).toBe(200)
  const refused = await ask('anthropic unpriced', [search])
  expect([refused.status, await refused.text()]).toEqual([429, expect.stringContaining('web search is not known')])
  // Five pages are 125,000 tokens, which are 1.25.
  expect((await ask('anthropic unpriced', [fetching])).status).toBe(429)
  await svc.host.limits.set({ ...limit, cap: 1.4 })
  expect((await ask('anthropic unpriced', [fetching])).status).toBe(200)
  await svc.host.limits.remove({ name: 'purse' })
  expect((await ask('anthropic unpriced', [search])).status).toBe(200)

  expect(await summary(ada)).toMatchObject([
    { model: 'anthropic', webSearches: 2, webFetches: 0, costMicros: 2 * (970 + 10_000) },
    { model: 'anthropic unpriced', requests: 1, costMicros: 970, webFetches: 1, unpriced: 0 },
    { model: 'anthropic unpriced', requests: 1, costMicros: null, webSearches: 1, unpriced: 1 },
  ])
  expect(await summary(bob)).toEqual([])
  expect((await svc.send('GET', '/trpc/usage.summary', {})).status).toBe(401)
  await takeRecords()
})

test('a limit in tokens holds for all pages that may be read, in each round of an answer', async () => {
  const limit = { name: 'reader', for: 'user', unit: 'tokens', per: 'day' } as const
  const { token } = await svc.user()
  const ask = async (tools: string[]) =>
    (await svc.send('POST', '/v1/chat/completions', { token, body: { model: 'anthropic', messages, tools } })).status
  const usage = { ...fetchUsage, input_tokens: 60_000 }
  const call = { type: 'tool_use', id: 'call', name: 'weather', input: {} }
  upstream.behave = ({ body }, response) => {
    const isReading = !JSON.stringify(body.tools).includes('weather')
    json(response, { ...anthropic.whole, content: isReading ? [fetch, page] : [call], usage })
  }

  await svc.host.limits.set({ ...limit, cap: 300 })
  expect(await Promise.all([ask([fetching]), ask([fetching])])).toEqual([429, 429])
  expect(upstream.asked).toEqual([])
  // Five pages of 25,000 tokens, and as much again is not left.
  await svc.host.limits.set({ ...limit, cap: 130_000 })
  expect((await Promise.all([ask([fetching]), ask([fetching])])).toSorted()).toEqual([200, 429])
  await svc.host.limits.set({ ...limit, cap: 200_000 })
  expect(await ask([fetching, 'weather'])).toBe(429)
  expect(upstream.asked).toHaveLength(2)

  await svc.host.limits.remove({ name: 'reader' })
  expect(await takeRecords()).toMatchObject([{ input: 60_000, fetches: 1 }, { input: 60_000 }])
})

test.each([
  ['openai without', search, {}, 'tools[0]'],
  ['openai off', search, {}, 'tools[0]'],
  ['openai-compatible', search, {}, 'tools[0]'],
  ['openai', fetching, {}, 'tools[0]'],
  ['anthropic', 'capability:code_execution:native', {}, 'tools[0]'],
  ['anthropic', `${search}:{"max_uses": 100}`, {}, 'tools[0]'],
  ['openai', search, { stop: ['.'] }, 'stop'],
  ['openai', search, { seed: 1 }, 'seed'],
  ['google', search, { response_format: { type: 'json_object' } }, 'response_format'],
])('the model %s asked with %s and %j is refused by the field %s', async (model, reference, more, param) => {
  const refused = await chat(model, [reference], more)

  expect([refused.status, await refused.json()]).toMatchObject([400, { error: { param } }])
  expect(upstream.asked).toEqual([])
})

test('a tool of another kind than functions is refused, and so is one that would be mistaken for a tool of the provider', async () => {
  const own = (name: string) => ({ ...fn, function: { ...fn.function, name } })
  const refusals = await Promise.all([
    send('/v1/responses', { model: 'openai', input: 'Hello', tools: [{ type: 'web_search' }] }),
    send('/v1/messages', { model: 'anthropic', messages, max_tokens: 9, tools: anthropic.tools }),
    chat('google', [{ googleSearch: {} }]),
    chat('google', [search, own('own')]),
    chat('google', [search, 'weather']),
    chat('anthropic', [search, own('web_search')]),
  ])

  expect(refusals.map(({ status }) => status)).toEqual(refusals.map(() => 400))
  const code = await chat('anthropic', ['capability:code_execution:native'])
  expect(await code.text()).toContain('would have the provider run code, of which no answer of this service can tell')
  expect(upstream.asked).toEqual([])
})

test('a model that searches, reads and calls a tool of the service gets back what it found before', async () => {
  const call = { type: 'tool_use', id: 'call', name: 'weather', input: {} }
  upstream.behave = (asked: Asked, response) => {
    const isAnswered = asked.body.messages.length > 1
    const round = { ...anthropic.whole, content: [use, result, fetch, page, call], stop_reason: 'tool_use' }
    json(response, isAnswered ? anthropic.whole : round)
  }

  const answer = await chat('anthropic', [search, fetching, 'weather'])

  expect(await answer.json()).toMatchObject({ choices: [{ message: { content: 'It is e4.' } }] })
  const [, said, results] = (upstream.asked[1]?.body.messages ?? []) as unknown as { content: object[] }[]
  expect(said?.content).toMatchObject([
    { type: 'server_tool_use', id: use.id, name: 'web_search' },
    { type: 'web_search_tool_result', tool_use_id: use.id, content: [{ url, encrypted_content: 'sealed' }] },
    { type: 'server_tool_use', id: fetch.id, name: 'web_fetch' },
    page,
    { type: 'tool_use', id: 'call', name: 'weather' },
  ])
  expect(results?.content).toMatchObject([{ type: 'tool_result', tool_use_id: 'call' }])
  expect(await takeRecords()).toEqual([
    { outcome: 'completed', input: 140, output: 18, searches: 2, fetches: 1, cost: 2 * 970 + 20_000 + 500 },
  ])
})
