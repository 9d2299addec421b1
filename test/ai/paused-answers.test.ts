import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { answersWithBlocks } from '../kit/ai/anthropic.ts'
import { behavesInTurn, startProvider, writeConfig } from '../kit/ai/provider.ts'
import { startApp, type TestApp } from '../kit/app.ts'

const url = 'https://example.org/chess'
const search = 'capability:web_search:native'
const thought = { type: 'thinking', thinking: 'Hm.', signature: 'signed' }
const announcement = { type: 'text', text: 'I look it up. ' }
const use = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'chess' } }
const searchHit = { type: 'web_search_result', url, title: 'Chess', encrypted_content: 'sealed', page_age: null }
const result = { type: 'web_search_tool_result', tool_use_id: use.id, content: [searchHit] }
const citation = {
  type: 'web_search_result_location',
  url,
  title: 'Chess',
  cited_text: 'e4 is best.',
  encrypted_index: 'sealed',
}
const cited = { type: 'text', text: 'Most say ', citations: [citation] }
/** A search whose result comes with the rest of the answer. */
const pendingSearch = { ...use, id: 'srvtoolu_2', input: { query: 'openings' } }
const firstBlocks = [thought, announcement, use, result, cited, pendingSearch]
const rest = [
  { ...result, tool_use_id: pendingSearch.id },
  { type: 'text', text: 'e4.' },
]

const usage = (input: number, output: number, searches: number) => ({
  input_tokens: input,
  output_tokens: output,
  server_tool_use: { web_search_requests: searches },
})
const pauses = answersWithBlocks(firstBlocks, { stop_reason: 'pause_turn', usage: usage(70, 9, 1) })
const ends = answersWithBlocks(rest, { stop_reason: 'end_turn', usage: usage(110, 5, 1) })

const resources = new AsyncDisposableStack()
let svc: TestApp
let upstream: Awaited<ReturnType<typeof startProvider>>
let token: string

beforeAll(async () => {
  upstream = resources.use(await startProvider(ends))
  const config = resources.use(await writeConfig(''))
  const settings = { maxToolCallingRounds: 2, maxToolCallingRoundsStreaming: 2 }
  const model = {
    id: 'mock-1',
    upstreamId: 'up',
    external: true,
    tools: ['weather'],
    nativeCapabilities: ['web_search'],
    settings,
    pricing: { currency: 'EUR', inputPerMillion: 10, outputPerMillion: 30, webSearchPerThousand: 10 },
  }
  const provider = { id: 'anthropic', adapter: 'anthropic', apiUrl: upstream.url, apiKey: 'key' }
  await config.write({ providers: [{ ...provider, models: [model] }] })
  const env = { AI_CONFIG: config.file, EXTENSIONS: 'test/fixtures/extension.ts', LIMITS_MAX_OUTPUT_TOKENS: '100' }
  svc = resources.use(await startApp(env))
  token = (await svc.user()).token
})
afterAll(() => resources.disposeAsync())
beforeEach(() => {
  upstream.behave = behavesInTurn(pauses, ends)
  upstream.requests.length = 0
})

const messages = [{ role: 'user', content: 'Which opening is best?' }]
const send = (path: string, more: object, who = token) =>
  svc.send('POST', path, { token: who, body: { model: 'mock-1', messages, ...more } })
const chat = (more: object = {}, who = token) => send('/v1/chat/completions', { tools: [search], ...more }, who)

const sentMessages = () =>
  upstream.requests.map(({ body }) => body.messages as unknown as { role: string; content: object[] }[])

async function takeRecords() {
  await svc.services.ai.usageLedger.flush()
  return svc.rows(`delete from usage_records returning outcome, input_tokens as input, output_tokens as output,
                     web_searches as searches, cost_micros::float8 as cost`)
}

const both = { input: 180, output: 14, searches: 2, cost: 180 * 10 + 14 * 30 + 20_000 }

test.for([
  ['a chat completion', '/v1/chat/completions', false],
  ['a chat completion', '/v1/chat/completions', true],
  ['a message', '/v1/messages', false],
  ['a message', '/v1/messages', true],
] as const)(
  'a paused answer is sent back unchanged and continues: %s over %s, streamed %s',
  async ([, path, stream]) => {
    const isChat = path === '/v1/chat/completions'

    const answer = await send(path, { stream, ...(isChat ? { tools: [search] } : { max_tokens: 100 }) })

    const text = await answer.text()
    for (const word of ['I look it up. ', 'Most say ', 'e4.']) expect(text).toContain(word)
    expect(text).toContain(isChat ? '"finish_reason":"stop"' : '"stop_reason":"end_turn"')
    // Both rounds found the same page, and the second one cites it.
    expect(text.match(/"url":"[^"]*"/g)).toEqual([`"url":"${url}"`])
    const [first, second] = sentMessages()
    expect(first).toHaveLength(1)
    expect(second).toEqual([first?.[0], { role: 'assistant', content: firstBlocks }])
    expect(upstream.requests[1]?.body.tools).toEqual(upstream.requests[0]?.body.tools)
    expect(await takeRecords()).toEqual([{ outcome: 'completed', ...both }])
  },
)

test.for([false, true])('a paused answer in the last round ends as too long, streamed %s', async (stream) => {
  upstream.behave = pauses

  const text = await (await chat({ stream })).text()

  expect(text).toContain('Most say ')
  expect(text).toContain('"finish_reason":"length"')
  expect(sentMessages().map(([, answer]) => answer?.content)).toEqual([
    undefined,
    firstBlocks,
    [...firstBlocks, ...firstBlocks],
  ])
  expect(await takeRecords()).toMatchObject([{ outcome: 'completed', input: 210, output: 27, searches: 3 }])
})

test.for([false, true])('an answer that pauses before any word is not continued, streamed %s', async (stream) => {
  upstream.behave = answersWithBlocks([], { stop_reason: 'pause_turn', usage: usage(70, 1, 0) })

  expect(await (await chat({ stream })).text()).toContain('"finish_reason":"length"')
  expect(upstream.requests).toHaveLength(1)
  expect(await takeRecords()).toMatchObject([{ outcome: 'completed', input: 70, output: 1 }])
})

test('a paused model that calls a tool gets its result and nothing else', async () => {
  const call = { type: 'tool_use', id: 'call', name: 'weather', input: { city: 'Hildesheim' } }
  upstream.behave = behavesInTurn(
    answersWithBlocks([announcement, call], { stop_reason: 'pause_turn', usage: usage(70, 9, 0) }),
    pauses,
    ends,
  )

  expect(await (await chat({ tools: [search, 'weather'] })).text()).toContain('e4.')
  const [, second, third] = sentMessages()
  expect(second?.slice(1)).toMatchObject([
    { role: 'assistant', content: [announcement, call] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call' }] },
  ])
  expect(third?.slice(3)).toEqual([{ role: 'assistant', content: firstBlocks }])
  expect(await takeRecords()).toMatchObject([{ outcome: 'completed', input: 250, output: 23, searches: 2 }])
})

test('a text of spaces alone is not sent back, as its provider refuses it', async () => {
  const blocks = [use, result, { type: 'text', text: ' \n' }]
  upstream.behave = behavesInTurn(
    answersWithBlocks(blocks, { stop_reason: 'pause_turn', usage: usage(70, 9, 1) }),
    ends,
  )

  expect((await chat()).status).toBe(200)
  expect(sentMessages()[1]?.[1]).toEqual({ role: 'assistant', content: [use, result] })
  await takeRecords()
})

test('a paused answer that continues ends where the limits have no room', async () => {
  const limit = { name: 'little', for: 'user', unit: 'tokens', per: 'day' } as const
  const { token } = await svc.user()
  await svc.host.limits.set({ ...limit, cap: 160 })

  const none = await (await chat({ stream: true }, token)).text()

  expect(none).toContain('Most say ')
  expect(none).toContain('"finish_reason":"length"')
  expect(upstream.requests.splice(0)).toHaveLength(1)
  expect(await takeRecords()).toMatchObject([{ outcome: 'cut', input: 70, output: 9, searches: 1 }])

  await svc.host.limits.set({ ...limit, cap: 1_000_000 })
  const tooLong = [
    { type: 'text', text: 'And more. ' },
    { type: 'text', text: 'e4. '.repeat(1000) },
  ]
  upstream.behave = behavesInTurn(
    pauses,
    answersWithBlocks(tooLong, { stop_reason: 'end_turn', usage: usage(110, 2000, 0) }),
  )
  const some = await (await chat({ stream: true }, token)).text()
  await svc.host.limits.remove({ name: 'little' })

  expect(some).toContain('And more. ')
  expect(some).not.toContain('e4. ')
  expect(some).toContain('"finish_reason":"length"')
  expect(upstream.requests).toHaveLength(2)
  expect(await takeRecords()).toMatchObject([{ outcome: 'cut', searches: 1 }])
})

test('a request with a paused answer is refused beyond the limits, and recorded', async () => {
  const { token } = await svc.user()
  await svc.host.limits.set({ name: 'little', for: 'user', unit: 'tokens', per: 'day', cap: 160 })

  const refusal = await chat({}, token)
  await svc.host.limits.remove({ name: 'little' })

  expect(refusal.status).toBe(429)
  expect(await takeRecords()).toMatchObject([{ input: 70, output: 9, searches: 1 }])
})
