import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { createOpenAI } from '@ai-sdk/openai'
import { ChatOpenAI } from '@langchain/openai'
import { generateText, streamText } from 'ai'
import OpenAI from 'openai'
import { beforeAll, beforeEach, expect, test } from 'vitest'
import {
  answers,
  breaksOff,
  buildCompletion,
  callsTool,
  canary,
  neverEnds,
  refuses,
  sendJson,
} from '../../kit/ai/provider.ts'
import { readUsageRecords, startWithProvider } from '../../kit/ai/provider-service.ts'
import { shareResource } from '../../kit/share-resource.ts'

let client: OpenAI

const app = shareResource(() => startWithProvider(answers('Good day to you.')))
beforeAll(() => {
  client = new OpenAI({ apiKey: app.token, baseURL: `${app.svc.url}/v1` })
})
beforeEach(() => {
  app.upstream.requests.length = 0
  app.upstream.behave = answers('Good day to you.')
})

const question = { model: 'mock-1', input: 'How do you do?' }
const weather = {
  type: 'function' as const,
  name: 'weather',
  description: 'Tells the weather.',
  parameters: { type: 'object', properties: { place: { type: 'string' } }, required: ['place'] },
  strict: true,
}
const refusedBy = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error) => error,
  )

test('the client of OpenAI reads a whole response with its usage', async () => {
  const response = await client.responses.create({ ...question, instructions: 'Be kind.', max_output_tokens: 50 })

  expect(response.output_text).toBe('Good day to you.')
  expect(response).toMatchObject({ object: 'response', status: 'completed', instructions: 'Be kind.', store: false })
  expect(response.usage).toMatchObject({ input_tokens: 7, output_tokens: 3, total_tokens: 10 })
  expect(app.upstream.requests[0]?.body).toMatchObject({
    max_tokens: 50,
    messages: [
      { role: 'system', content: 'Be kind.' },
      { role: 'user', content: 'How do you do?' },
    ],
  })
})

test.for([
  [{}, 1, 1],
  [{ temperature: null, top_p: null }, 1, 1],
  [{ temperature: 0.3, top_p: 0.5 }, 0.3, 0.5],
])('a response repeats the sampling of %o, streamed too', async ([sampling, temperature, topP]) => {
  const whole = await client.responses.create({ ...question, ...(sampling as object) })
  const first = []
  for await (const event of await client.responses.create({ ...question, ...(sampling as object), stream: true }))
    if ('response' in event) first.push([event.response.temperature, event.response.top_p])

  expect([whole.temperature, whole.top_p]).toEqual([temperature, topP])
  expect(first).toEqual(first.map(() => [temperature, topP]))
  expect(first.length).toBeGreaterThan(1)
})

/** Reads the members that an interface of the SDK requires. */
async function requiredMembers(name: string): Promise<string[]> {
  const file = fileURLToPath(import.meta.resolve('openai/resources/responses/responses')).replace(/\.m?js$/, '.d.ts')
  const declared = await readFile(file, 'utf8')
  const [, body = ''] = new RegExp(`^export interface ${name} \\{$(.*?)^\\}$`, 'ms').exec(declared) ?? []
  return [...body.matchAll(/^ {4}(\w+): /gm)].map(([, member = '']) => member)
}

/** Members that the Open Responses specification requires in addition to the SDK. */
const alsoExpected = [
  'background',
  'completed_at',
  'frequency_penalty',
  'max_output_tokens',
  'max_tool_calls',
  'presence_penalty',
  'previous_response_id',
  'prompt_cache_key',
  'reasoning',
  'safety_identifier',
  'service_tier',
  'status',
  'store',
  'text',
  'top_logprobs',
  'truncation',
  'usage',
]

test('each response has all members that clients expect, from its beginning to its end', async () => {
  const { type, name } = weather
  const body = { ...question, tools: [{ type, name }] }
  const whole = await app.svc.send('POST', '/v1/responses', { token: app.token, body })
  const streamed = await app.svc.send('POST', '/v1/responses', { token: app.token, body: { ...body, stream: true } })
  const events = [...(await streamed.text()).matchAll(/^data: (\{.*\})$/gm)].map(([, data = '']) => JSON.parse(data))
  const responses = [await whole.json(), ...events.flatMap(({ response }) => response ?? [])]
  // The client computes `output_text` itself.
  const required = (await requiredMembers('Response')).filter((member) => member !== 'output_text')

  expect(required.length).toBeGreaterThan(10)
  expect(responses).toHaveLength(4)
  for (const response of responses) {
    expect(Object.keys(response)).toEqual(expect.arrayContaining([...required, ...alsoExpected]))
    expect(response.tools).toEqual([{ type, name, parameters: null, strict: null }])
    const isEnded = response.status === 'completed'
    expect(response.completed_at).toEqual(isEnded ? expect.any(Number) : null)
    if (isEnded)
      expect(Object.keys(response.usage)).toEqual(expect.arrayContaining(await requiredMembers('ResponseUsage')))
  }
})

test('the events of a response are numbered, and frame each item', async () => {
  const events = []
  for await (const event of await client.responses.create({ ...question, stream: true })) events.push(event)

  expect(events.map(({ type }) => type)).toEqual([
    'response.created',
    'response.in_progress',
    'response.output_item.added',
    'response.content_part.added',
    ...['Good ', 'day ', 'to ', 'you.'].map(() => 'response.output_text.delta'),
    'response.output_text.done',
    'response.content_part.done',
    'response.output_item.done',
    'response.completed',
  ])
  expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, at) => at))
  expect(events.at(-1)).toMatchObject({ response: { status: 'completed', usage: { total_tokens: 10 } } })
  expect((await client.responses.stream({ ...question }).finalResponse()).output_text).toBe('Good day to you.')
})

test('the client of OpenAI runs a function and returns its result', async () => {
  app.upstream.behave = callsTool('weather', '{"place":"Jena"}', 'It rains.')
  const first = await client.responses.create({ ...question, tools: [weather], tool_choice: 'auto' })
  const [call] = first.output
  if (call?.type !== 'function_call') throw new Error('no call')
  const input: OpenAI.Responses.ResponseInput = [
    { role: 'user', content: question.input },
    ...(first.output as OpenAI.Responses.ResponseInput),
    { type: 'function_call_output', call_id: call.call_id, output: 'Rain' },
  ]
  const second = await client.responses.create({ ...question, input, tools: [weather] })

  expect(call).toMatchObject({ name: 'weather', arguments: '{"place":"Jena"}' })
  expect(second.output_text).toBe('It rains.')
  expect(app.upstream.requests[1]?.body.messages).toMatchObject([
    { role: 'user' },
    { role: 'assistant', tool_calls: [{ id: call.call_id, function: { name: 'weather' } }] },
    { role: 'tool', tool_call_id: call.call_id, content: 'Rain' },
  ])
})

test('the AI SDK and LangChain read responses whole and as they come', async () => {
  const model = createOpenAI({ apiKey: app.token, baseURL: `${app.svc.url}/v1` })('mock-1')
  const configuration = { baseURL: `${app.svc.url}/v1` }
  const langChain = new ChatOpenAI({ apiKey: app.token, model: 'mock-1', configuration, useResponsesApi: true })

  expect((await generateText({ model, prompt: question.input })).text).toBe('Good day to you.')
  expect(await streamText({ model, prompt: question.input }).text).toBe('Good day to you.')
  expect((await langChain.invoke(question.input)).text).toBe('Good day to you.')
  let streamed = ''
  for await (const { text } of await langChain.stream(question.input)) streamed += text
  expect(streamed).toBe('Good day to you.')
})

test.for<[string, object, string]>([
  ['what was said before by its number', { previous_response_id: 'resp_1' }, 'previous_response_id'],
  ['a tool of the provider', { tools: [{ type: 'code_interpreter' }] }, 'tools[0].type'],
  ['work in the background', { background: true }, 'background'],
  ['too long an answer', { max_output_tokens: 0 }, 'max_output_tokens'],
  [
    'an answer to no call',
    { input: [{ type: 'function_call_output', call_id: 'x', output: '1' }] },
    'input[0].call_id',
  ],
  [
    'a word about no question',
    {
      input: [
        { role: 'user', content: 'Hello' },
        { type: 'mcp_approval_response', approval_request_id: 'mcpr_x', approve: true },
      ],
    },
    'input[1].approval_request_id',
  ],
  [
    'too long a reason',
    { input: [{ type: 'mcp_approval_response', approval_request_id: 'x', approve: false, reason: 'x'.repeat(2001) }] },
    'input[0].reason',
  ],
  [
    'the outcome of a call about which nobody was asked here',
    {
      input: [
        {
          type: 'mcp_call',
          id: 'c',
          approval_request_id: 'q',
          name: 'a',
          arguments: '',
          server_label: '',
          output: '1',
        },
      ],
    },
    'input[0].approval_request_id',
  ],
  [
    'a call of a function with a bad name',
    { input: [{ type: 'function_call', call_id: 'c', name: 'a b', arguments: '{}' }] },
    'input[0].name',
  ],
  [
    'an image that is to be fetched',
    { input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'https://example.org/a.png' }] }] },
    'input[0].content[0].image_url',
  ],
])('%s is refused by the name of the parameter', async ([, more, param]) => {
  const body = { ...question, ...more } as OpenAI.Responses.ResponseCreateParamsNonStreaming

  expect(await refusedBy(client.responses.create(body))).toMatchObject({ status: 400, param })
  expect(app.upstream.requests).toEqual([])
})

test("a response that fails is the client's error before and after its first event", async () => {
  app.upstream.behave = refuses(500)
  expect(await refusedBy(client.responses.create(question))).toMatchObject({ status: 500, code: 'provider_failed' })
  expect(app.upstream.requests).toHaveLength(3)

  app.upstream.behave = breaksOff('error')
  const read = async () => {
    for await (const _ of await client.responses.create({ ...question, stream: true }));
  }
  const error = await refusedBy(read())
  expect(error).toMatchObject({ code: 'provider_broke_off' })
  expect(String(error)).not.toContain(canary)
  expect(app.upstream.requests).toHaveLength(4)
})

test('the last events of a failed stream have the members that OpenAI documents', async () => {
  app.upstream.behave = breaksOff('error')
  const body = { ...question, stream: true }
  const stream = await (await app.svc.send('POST', '/v1/responses', { token: app.token, body })).text()

  const events = [...stream.matchAll(/^data: (\{.*\})$/gm)].map(([, data = '']) => JSON.parse(data))
  const message = expect.any(String)
  expect(events.slice(-2)).toMatchObject([
    { type: 'response.failed', response: { status: 'failed', error: { code: 'server_error', message } } },
    { type: 'error', code: 'provider_broke_off', message, param: null, error: { code: 'provider_broke_off', message } },
  ])
})

test('a client that goes away from a response ends the call of the provider', async () => {
  app.upstream.behave = neverEnds
  for await (const _ of await client.responses.create({ ...question, stream: true })) break
  await expect.poll(() => app.upstream.requests[0]?.abortedAt).toBeDefined()
})

test('everything that a model is sent is counted where the provider says nothing', async () => {
  app.upstream.behave = (_, response) => sendJson(response, { ...buildCompletion('Good.'), usage: undefined })
  const long = 'x'.repeat(4000)
  const thought = { type: 'reasoning', id: 'rs', summary: [], encrypted_content: long }
  const say = (content: string) => ({ role: 'user', content })
  const format = { type: 'json_schema', name: 'answer', schema: { type: 'object', description: long } }
  const inputOf = async (more: object) => {
    const before = (await readUsageRecords(app.svc)).length
    await client.responses.create({ ...question, ...more, stream: false })
    return (await readUsageRecords(app.svc))[before]?.input ?? 0
  }

  const plain = await inputOf({})
  expect(await inputOf({ tools: [{ ...weather, description: long }] })).toBeGreaterThan(plain + 1000)
  expect(await inputOf({ text: { format } })).toBeGreaterThan(plain + 1000)
  expect(await inputOf({ input: [say('Well?'), thought, say('How do you do?')] })).toBeGreaterThan(plain + 1000)
  expect(await inputOf({ input: '你好吗'.repeat(100) })).toBe(375)
  expect(await inputOf({ input: 'Как дела?'.repeat(100) })).toBeGreaterThanOrEqual(575)
})
