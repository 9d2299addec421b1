import OpenAI from 'openai'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { answers, breaksOff, callsTool, canary, neverEnds, refuses } from '../../kit/ai/provider.ts'
import { readUsageRecords, startWithProvider } from '../../kit/ai/provider-service.ts'
import { shareResource } from '../../kit/share-resource.ts'

let client: OpenAI

const app = shareResource(() => startWithProvider(answers('Good day to you.')))
beforeAll(async () => {
  await app.svc.changeCatalogue(`update ai_models set input = '{text,image}'`)
  client = new OpenAI({ apiKey: app.token, baseURL: `${app.svc.url}/v1` })
})
beforeEach(() => {
  app.upstream.requests.length = 0
  app.upstream.behave = answers('Good day to you.')
})

const messages = [{ role: 'user' as const, content: 'How do you do?' }]
const requestBodies = () => app.upstream.requests.map(({ body }) => body)
const create = (more: object = {}) => client.chat.completions.create({ model: 'mock-1', messages, ...more })
const createStream = (more: object = {}) =>
  client.chat.completions.create({ model: 'mock-1', messages, stream: true, ...more })
const refusedBy = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error) => error,
  )

test('the client of OpenAI reads a whole answer with its usage', async () => {
  const { data, response } = await create().withResponse()

  expect(data).toMatchObject({
    id: `chatcmpl-${response.headers.get('x-request-id')}`,
    object: 'chat.completion',
    model: 'mock-1',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Good day to you.' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 },
  })
  expect(requestBodies()).toMatchObject([{ model: 'mock-1', messages: [{ role: 'user', content: 'How do you do?' }] }])
})

test('the client of OpenAI reads a streamed answer, with usage on request', async () => {
  const chunks = []
  for await (const chunk of await createStream({ stream_options: { include_usage: true } })) chunks.push(chunk)

  expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')).toBe('Good day to you.')
  expect(chunks.map(({ choices }) => choices[0]?.finish_reason ?? '').join('')).toBe('stop')
  expect(chunks[0]?.choices[0]?.delta.role).toBe('assistant')
  expect(chunks.slice(0, -1).map(({ usage }) => usage)).toEqual(chunks.slice(1).map(() => null))
  expect(chunks.at(-1)).toMatchObject({
    choices: [],
    usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 },
  })
})

test('messages that the client of OpenAI built from streams are accepted unchanged', async () => {
  const stream = (more: object) => client.chat.completions.stream({ model: 'mock-1', messages, ...more })
  const json_schema = { name: 'weather', schema: { type: 'object' }, strict: true }
  const finalMessage = await stream({}).finalMessage()
  app.upstream.behave = answers('{"sun":true}')
  const parsed = await stream({ response_format: { type: 'json_schema', json_schema } }).finalMessage()
  app.upstream.behave = callsTool('weather', '{"place":"Ulm"}')
  const tool = { type: 'function', function: { name: 'weather', strict: true, parameters: { type: 'object' } } }
  const calling = await stream({ tools: [tool] }).finalMessage()
  const result = { role: 'tool', tool_call_id: calling.tool_calls?.[0]?.id, content: 'Sunny.' }
  expect([finalMessage, parsed].map((message) => 'parsed' in message)).toEqual([true, true])
  app.upstream.behave = answers('Well.')

  const answer = await create({
    messages: [...messages, finalMessage, ...messages, parsed, ...messages, calling, result],
  })

  expect(answer.choices[0]?.message.content).toBe('Well.')
})

test('a stream ends with [DONE], and has usage only on request', async () => {
  const body = { model: 'mock-1', messages, stream: true }
  const response = await app.svc.send('POST', '/v1/chat/completions', { token: app.token, body })
  const text = await response.text()

  expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
  expect(text.endsWith('\n\ndata: [DONE]\n\n')).toBe(true)
  expect(text).not.toContain('usage')
})

test('a call on this surface leaves the same record as on any other', async () => {
  const before = (await readUsageRecords(app.svc)).length
  await create()
  await (await createStream()).toReadableStream().cancel()
  await refusedBy(create({ model: 'none' }))

  expect((await readUsageRecords(app.svc)).slice(before)[0]).toEqual({ outcome: 'completed', input: 7, output: 3 })
})

test('parameters reach the provider in its own terms', async () => {
  const more = { temperature: 0.5, top_p: 0.9, max_completion_tokens: 50, seed: 7, stop: ['END'], user: 'me', n: 1 }
  await create({ ...more, reasoning_effort: 'low', frequency_penalty: 0, logprobs: false })

  const { user: _, n: __, ...same } = more
  expect(requestBodies()).toMatchObject([{ ...same, reasoning_effort: 'low' }])
  expect(requestBodies()[0]).not.toHaveProperty('user')
})

const refused: [name: string, body: object, status: number, param: string, code: string][] = [
  ['an unknown model', { model: 'gpt-99' }, 404, 'model', 'model_not_found'],
  ['several answers', { n: 2 }, 400, 'n', 'invalid_value'],
  ['a bias of words', { logit_bias: { 50256: -100 } }, 400, 'logit_bias', 'invalid_value'],
  ['too high a penalty', { frequency_penalty: 3 }, 400, 'frequency_penalty', 'invalid_value'],
  ['too warm a temperature', { temperature: 3 }, 400, 'temperature', 'invalid_value'],
  ['no messages', { messages: [] }, 400, 'messages', 'invalid_value'],
  ['an unknown role', { messages: [{ role: 'parrot', content: 'Hi' }] }, 400, 'messages[0].role', 'invalid_value'],
  [
    'a result without a call',
    { messages: [...messages, { role: 'tool', tool_call_id: 'x', content: '1' }] },
    400,
    'messages[1].tool_call_id',
    'invalid_value',
  ],
  [
    'a bad name among allowed tools',
    {
      tools: ['unused', 'a b'].map((name) => ({ type: 'function', function: { name } })),
      tool_choice: {
        type: 'allowed_tools',
        allowed_tools: { mode: 'auto', tools: [{ type: 'function', function: { name: 'a b' } }] },
      },
    },
    400,
    'tools[1].function.name',
    'invalid_value',
  ],
  ['a tool that must be called and is not there', { tool_choice: 'required' }, 400, 'tool_choice', 'invalid_value'],
  [
    'an image that is to be fetched',
    { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://example.org/a.png' } }] }] },
    400,
    'messages[0].content[0].image_url.url',
    'invalid_value',
  ],
]

test.for(refused)(
  '%s is refused by the name of the parameter, without any call',
  async ([, body, status, param, code]) => {
    const error = await refusedBy(create(body))

    expect(error).toBeInstanceOf(OpenAI.APIError)
    expect(error).toMatchObject({ status, param, code, type: 'invalid_request_error', requestID: expect.any(String) })
    expect(app.upstream.requests).toEqual([])
  },
)

test.for<[what: string, body: object, message: string]>([
  ['a message without a role', { messages: [{ content: 'Hi' }] }, "'messages[0].role' is required."],
  [
    'a part without a type',
    { messages: [{ role: 'user', content: [{ text: 'Hi' }] }] },
    "'messages[0].content[0].type' is required.",
  ],
  [
    'an unknown role',
    { messages: [{ role: 'parrot', content: 'Hi' }] },
    "'messages[0].role' must be one of system, developer, user, assistant, tool.",
  ],
  ['a message that is a list', { messages: [[]] }, "'messages[0]' must be an object."],
  ['too warm a temperature', { temperature: 3 }, "'temperature' must be at most 2."],
])('%s is refused in a sentence that says what is expected', async ([, body, message]) => {
  expect((await refusedBy(create(body))) as Error).toMatchObject({ error: { message } })
})

test('a caller without a good token is refused in the words of OpenAI', async () => {
  const stranger = new OpenAI({ apiKey: 'svc_1_wrong', baseURL: `${app.svc.url}/v1` })
  const error = await refusedBy(stranger.models.list().then((page) => page.data))

  expect(error).toBeInstanceOf(OpenAI.AuthenticationError)
  expect(error).toMatchObject({ code: 'invalid_api_key', type: 'invalid_request_error' })
  const { token } = await app.svc.user({ abilities: ['read'] })
  expect((await app.svc.send('GET', '/v1/models', { token })).status).toBe(403)
  expect((await app.svc.send('POST', '/v1/chat/completions', { token, body: {} })).status).toBe(403)
})

test('the client of OpenAI lists the models that its user may ask', async () => {
  expect((await client.models.list()).data).toMatchObject([{ id: 'mock-1', object: 'model', owned_by: 'local' }])
  expect(await client.models.retrieve('mock-1')).toMatchObject({ id: 'mock-1' })
  expect(await refusedBy(client.models.retrieve('other'))).toMatchObject({ status: 404, code: 'model_not_found' })
})

describe('a provider that fails', () => {
  test('a provider that fails is asked three times, and not again by the client', async () => {
    app.upstream.behave = refuses(500)
    const error = await refusedBy(create())

    expect(error).toMatchObject({ status: 500, type: 'server_error', code: 'provider_failed' })
    expect(String(error)).not.toContain(canary)
    expect(app.upstream.requests).toHaveLength(3)
  })

  test('a provider that refuses is asked once', async () => {
    app.upstream.behave = refuses(400)

    expect(await refusedBy(createStream())).toMatchObject({ status: 400, code: 'provider_failed' })
    expect(app.upstream.requests).toHaveLength(1)
  })

  test("a stream that breaks off is the client's error, and is not retried", async () => {
    app.upstream.behave = breaksOff('reset')
    const read = async () => {
      for await (const _ of await createStream());
    }

    expect(await refusedBy(read())).toMatchObject({ type: 'server_error', code: 'provider_broke_off' })
    expect(app.upstream.requests).toHaveLength(1)
  })

  test('a stream that breaks off is logged once as an error', async () => {
    app.upstream.behave = breaksOff('reset')
    const before = app.svc.log.length
    const response = await app.svc.send('POST', '/v1/chat/completions', {
      token: app.token,
      body: { model: 'mock-1', messages, stream: true },
    })

    expect(await response.text()).toContain('provider_broke_off')
    const lines = app.svc.log.slice(before).map((line) => JSON.parse(line))
    expect(lines.filter(({ level }) => level >= 50)).toMatchObject([{ msg: 'provider_broke_off' }])
  })
})

test('a client that goes away ends the call of the provider', async () => {
  app.upstream.behave = neverEnds
  const stream = await createStream()
  for await (const _ of stream) break
  await expect.poll(() => app.upstream.requests[0]?.abortedAt).toBeDefined()
})
