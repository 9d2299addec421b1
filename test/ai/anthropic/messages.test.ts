import Anthropic from '@anthropic-ai/sdk'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import {
  answers,
  beginStream,
  breaksOff,
  buildChunk,
  canary,
  endStream,
  neverEnds,
  refuses,
} from '../../kit/ai/provider.ts'
import { readUsageRecords, startWithProvider } from '../../kit/ai/provider-service.ts'
import { shareResource } from '../../kit/share-resource.ts'

let client: Anthropic

const app = shareResource(() => startWithProvider(answers('Good day to you.')))
beforeAll(async () => {
  await app.svc.changeCatalogue(`update ai_models set input = '{text,image}'`)
  client = new Anthropic({ apiKey: app.token, baseURL: app.svc.url })
})
beforeEach(() => {
  app.upstream.requests.length = 0
  app.upstream.behave = answers('Good day to you.')
})

const messages: Anthropic.MessageParam[] = [{ role: 'user', content: 'How do you do?' }]
const question = { model: 'mock-1', max_tokens: 100, messages }
const create = (more: object = {}) => client.messages.create({ ...question, ...more, stream: false })
const bodies = () => app.upstream.requests.map(({ body }) => body)
const refusedBy = (work: PromiseLike<unknown>) =>
  work.then(
    () => undefined,
    (error) => error,
  )

test('the client of Anthropic reads a whole message with its usage', async () => {
  const { data, response } = await client.messages.create({ ...question, system: 'Be kind.' }).withResponse()

  expect(data).toMatchObject({
    id: `msg_${response.headers.get('request-id')}`,
    type: 'message',
    role: 'assistant',
    model: 'mock-1',
    content: [{ type: 'text', text: 'Good day to you.' }],
    stop_reason: 'end_turn',
    usage: { input_tokens: 7, output_tokens: 3, cache_read_input_tokens: 0 },
  })
  expect(bodies()).toMatchObject([
    {
      model: 'mock-1',
      max_tokens: 100,
      messages: [
        { role: 'system', content: 'Be kind.' },
        { role: 'user', content: 'How do you do?' },
      ],
    },
  ])
})

test('the events of a message begin, grow and end each block, then usage', async () => {
  const stream = client.messages.stream(question)
  const events: Anthropic.MessageStreamEvent[] = []
  for await (const event of stream) events.push(event)

  expect(events.map(({ type }) => type)).toEqual([
    'message_start',
    'content_block_start',
    ...['Good ', 'day ', 'to ', 'you.'].map(() => 'content_block_delta'),
    'content_block_stop',
    'message_delta',
    'message_stop',
  ])
  expect(await stream.finalText()).toBe('Good day to you.')
  expect(await stream.finalMessage()).toMatchObject({
    stop_reason: 'end_turn',
    usage: { input_tokens: 7, output_tokens: 3 },
  })
})

test('thinking comes in a block of its own, whole and as it streams', async () => {
  app.upstream.behave = (_, response) => {
    beginStream(response)
    response.write(buildChunk({ delta: { reasoning_content: 'Hm, ' } }))
    response.write(buildChunk({ delta: { reasoning_content: 'well.' } }))
    response.write(buildChunk({ delta: { content: 'Fine.' } }))
    endStream(response)
  }
  const message = await client.messages.stream(question).finalMessage()

  expect(message.content).toMatchObject([
    { type: 'thinking', thinking: 'Hm, well.', signature: '' },
    { type: 'text', text: 'Fine.' },
  ])
  app.upstream.behave = answers('Good.')
  await create({ messages: [...messages, { role: 'assistant', content: message.content }, ...messages] })
  expect(bodies().at(-1)?.messages).toMatchObject([{ role: 'user' }, { role: 'assistant' }, { role: 'user' }])
})

test('parameters reach the provider in its own terms, and those without effect do not', async () => {
  const cached = { cache_control: { type: 'ephemeral' as const } }
  await create({
    temperature: 0.5,
    top_p: 0.9,
    stop_sequences: ['END'],
    metadata: { user_id: 'me' },
    system: [{ type: 'text', text: 'Be kind.', ...cached }],
    messages: [{ role: 'user', content: [{ type: 'text', text: 'Well?', ...cached }] }],
  })

  expect(bodies()).toMatchObject([{ temperature: 0.5, top_p: 0.9, stop: ['END'], max_tokens: 100 }])
  expect(JSON.stringify(bodies())).not.toMatch(/cache_control|user_id/)
})

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

test('images and documents of text go to the provider as bytes', async () => {
  const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } }
  const document = { type: 'document', title: 'a.txt', source: { type: 'text', media_type: 'text/plain', data: 'Ho.' } }
  await create({ messages: [{ role: 'user', content: [{ type: 'text', text: 'See.' }, image, document] }] })

  expect(JSON.stringify(bodies()[0])).toContain(`data:image/png;base64,${png}`)
  expect(JSON.stringify(bodies()[0])).toContain('```a.txt\\nHo.\\n```')
})

const fetched = { type: 'image', source: { type: 'url', url: 'https://example.org/a.png' } }
const result = { type: 'tool_result', tool_use_id: 'x', content: '1' }

test.for<[name: string, body: object, status: number, type: string, message: string]>([
  ['an unknown model', { model: 'none' }, 404, 'not_found_error', 'model: '],
  ['no word of the longest answer', { max_tokens: undefined }, 400, 'invalid_request_error', 'max_tokens: is required'],
  [
    'a server of tools',
    { mcp_servers: [{ type: 'url', url: 'https://example.org', name: 'a' }] },
    400,
    'invalid_request_error',
    'mcp_servers: is not supported: the service calls only',
  ] as never,
  ['too warm a temperature', { temperature: 3 }, 400, 'invalid_request_error', 'temperature: must be at most '],
  [
    'a message without a role',
    { messages: [{ content: 'Hi' }] },
    400,
    'invalid_request_error',
    'messages.0.role: is required',
  ] as never,
  [
    'a block without a type',
    { messages: [{ role: 'user', content: [{ text: 'Hi' }] }] },
    400,
    'invalid_request_error',
    'messages.0.content.0.type: is required',
  ] as never,
  ['no messages', { messages: [] }, 400, 'invalid_request_error', 'messages: '],
  [
    'a tool of the provider',
    { tools: [{ type: 'bash_20250124', name: 'bash' }] },
    400,
    'invalid_request_error',
    'tools.0.type: ',
  ],
  [
    'an image that is to be fetched',
    { messages: [{ role: 'user', content: [fetched] }] },
    400,
    'invalid_request_error',
    'messages.0.content.0.source.type: is taken as base64 only',
  ] as never,
  [
    'a result without a call, behind other words',
    { messages: [...messages, { role: 'user', content: [{ type: 'text', text: 'So:' }, result] }] },
    400,
    'invalid_request_error',
    'messages.1.content.1.tool_use_id: answers no call before it',
  ] as never,
])('%s is refused by the name of the parameter, without any call', async ([, body, status, type, message]) => {
  const error = await refusedBy(create(body))

  expect(error).toBeInstanceOf(Anthropic.APIError)
  expect(error).toMatchObject({ status, requestID: expect.any(String) })
  expect(error.error).toMatchObject({ type: 'error', error: { type, message: expect.stringContaining(message) } })
  expect(app.upstream.requests).toEqual([])
})

test("a caller without a good token is refused in Anthropic's words by any header", async () => {
  const baseURL = app.svc.url
  const stranger = new Anthropic({ apiKey: 'svc_1_wrong', baseURL })
  const byBearer = new Anthropic({ apiKey: null, authToken: app.token, baseURL })
  const { token } = await app.svc.user({ abilities: ['read'] })
  const unable = new Anthropic({ apiKey: token, baseURL })

  expect(await refusedBy(stranger.messages.create(question))).toBeInstanceOf(Anthropic.AuthenticationError)
  expect(await refusedBy(unable.messages.create(question))).toMatchObject({ status: 403, type: 'permission_error' })
  expect(await byBearer.messages.create(question)).toMatchObject({ stop_reason: 'end_turn' })
})

test('a call on this surface leaves the same record as on any other', async () => {
  const before = (await readUsageRecords(app.svc)).length
  await create()

  expect((await readUsageRecords(app.svc)).slice(before)).toEqual([{ outcome: 'completed', input: 7, output: 3 }])
})

test("the client of Anthropic lists its user's models at the shared address", async () => {
  const page = await client.models.list({ limit: 1 })

  expect(page.data).toMatchObject([{ type: 'model', id: 'mock-1', display_name: 'Mock 1' }])
  expect(page.has_more).toBe(false)
  expect((await client.models.list({ after_id: 'mock-1' })).data).toEqual([])
  expect(await client.models.retrieve('mock-1')).toMatchObject({ id: 'mock-1' })
  expect(await refusedBy(client.models.retrieve('other'))).toMatchObject({ status: 404, type: 'not_found_error' })
})

test('parameters of earlier clients are ignored in the list of models', async () => {
  const headers = { 'anthropic-version': '2023-06-01' }
  const response = await app.svc.send('GET', '/v1/models?beta=true&limit=5', { token: app.token, headers })

  expect([response.status, await response.json()]).toMatchObject([200, { data: [{ id: 'mock-1' }] }])
})

test('tokens are estimated rather too high without any call, bill or answer', async () => {
  const before = (await readUsageRecords(app.svc)).length
  const tools = [{ name: 'weather', description: 'x'.repeat(400), input_schema: { type: 'object' as const } }]
  const count = (more: object) => client.messages.countTokens({ model: 'mock-1', messages, ...more })

  const plain = await count({})
  expect(plain).toEqual({ input_tokens: 6, estimated: true })
  expect((await count({ tools })).input_tokens).toBeGreaterThan(plain.input_tokens + 150)
  expect((await count({ system: '你好' })).input_tokens).toBeGreaterThan(plain.input_tokens + 2)
  expect(await refusedBy(count({ model: 'none' }))).toMatchObject({ status: 404, type: 'not_found_error' })
  expect(await count({ max_tokens: 5 })).toEqual(plain)
  const { token } = await app.svc.user({ abilities: ['read'] })
  const unable = new Anthropic({ apiKey: token, baseURL: app.svc.url })
  expect(await refusedBy(unable.messages.countTokens({ model: 'mock-1', messages }))).toMatchObject({ status: 403 })
  expect([await readUsageRecords(app.svc), app.upstream.requests]).toMatchObject([{ length: before }, []])
})

describe('a provider that fails', () => {
  test('a provider that fails is asked three times, and not again by the client', async () => {
    app.upstream.behave = refuses(500)
    const error = await refusedBy(create())

    expect(error).toMatchObject({ status: 500, type: 'api_error' })
    expect(String(error)).not.toContain(canary)
    expect(app.upstream.requests).toHaveLength(3)
  })

  test("a stream that breaks off is the client's error, and is not retried", async () => {
    app.upstream.behave = breaksOff('reset')

    expect(await refusedBy(client.messages.stream(question).finalMessage())).toMatchObject({ type: 'api_error' })
    expect(app.upstream.requests).toHaveLength(1)
  })
})

test('a client that goes away ends the call of the provider', async () => {
  app.upstream.behave = neverEnds
  const stream = client.messages.stream(question)
  for await (const { type } of stream) if (type === 'content_block_delta') break
  stream.abort()
  await expect.poll(() => app.upstream.requests[0]?.abortedAt).toBeDefined()
})
