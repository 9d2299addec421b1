import { createAnthropic } from '@ai-sdk/anthropic'
import Anthropic from '@anthropic-ai/sdk'
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema'
import { generateText, jsonSchema, stepCountIs, streamText, tool } from 'ai'
import { beforeAll, beforeEach, expect, test } from 'vitest'
import { answers, callsTool, refuses, sendJson } from '../../kit/ai/provider.ts'
import { startWithProvider } from '../../kit/ai/provider-service.ts'
import { shareResource } from '../../kit/share-resource.ts'

let client: Anthropic

const app = shareResource(() => startWithProvider(answers('Good day.')))
beforeAll(() => {
  client = new Anthropic({ apiKey: app.token, baseURL: app.svc.url })
})
beforeEach(() => {
  app.upstream.requests.length = 0
  app.upstream.behave = callsTool('weather', '{"place":"Jena"}', 'It rains.')
})

const schema = { type: 'object' as const, properties: { place: { type: 'string' as const } }, required: ['place'] }
const weather = { name: 'weather', description: 'Tells the weather.', input_schema: schema }
const messages: Anthropic.MessageParam[] = [{ role: 'user', content: 'How is the weather in Jena?' }]
const baseRequest = { model: 'mock-1', max_tokens: 100, tools: [weather] }
const reads = [
  { role: 'user' },
  { role: 'assistant', tool_calls: [{ id: 'call-1', function: { name: 'weather', arguments: '{"place":"Jena"}' } }] },
  { role: 'tool', tool_call_id: 'call-1', content: expect.stringContaining('Rain') },
  { role: 'user', content: 'So?' },
]

test.for(['whole', 'streamed'] as const)(
  'the client of Anthropic runs a function and returns its result (%s)',
  async (how) => {
    const first =
      how === 'whole'
        ? await client.messages.create({ ...baseRequest, messages, tool_choice: { type: 'any' } })
        : await client.messages.stream({ ...baseRequest, messages, tool_choice: { type: 'any' } }).finalMessage()
    const second = await client.messages.create({
      ...baseRequest,
      messages: [
        ...messages,
        { role: 'assistant', content: first.content },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'call-1', content: 'Rain' },
            { type: 'text', text: 'So?' },
          ],
        },
      ],
    })

    expect(first).toMatchObject({
      stop_reason: 'tool_use',
      content: [{ type: 'tool_use', id: 'call-1', name: 'weather', input: { place: 'Jena' } }],
    })
    expect(second.content).toMatchObject([{ type: 'text', text: 'It rains.' }])
    expect(app.upstream.requests[0]?.body).toMatchObject({
      tools: [{ type: 'function', function: { name: 'weather', parameters: schema } }],
      tool_choice: 'required',
    })
    expect(app.upstream.requests[1]?.body.messages).toMatchObject(reads)
  },
)

test.for([
  ['{"place":"Je', 'tool_calls', 'tool_use'],
  ['{"place":"Je', 'length', 'max_tokens'],
  ['now', 'tool_calls', 'tool_use'],
  ['["Jena"]', 'stop', 'tool_use'],
] as const)(
  'arguments that are no object, as %s with the end %s, come back unchanged',
  async ([written, finish_reason, stop_reason]) => {
    const call = { id: 'call-1', type: 'function', function: { name: 'weather', arguments: written } }
    const message = { role: 'assistant', content: null, tool_calls: [call] }
    app.upstream.behave = (_, response) => sendJson(response, { choices: [{ message, finish_reason }] })

    const whole = await client.messages.create({ ...baseRequest, messages })
    const streamed = await client.messages.stream({ ...baseRequest, messages }).finalMessage()
    for (const answer of [whole, streamed]) {
      expect(answer).toMatchObject({ stop_reason, content: [{ type: 'tool_use', input: { INVALID_JSON: written } }] })
      const back = [...messages, { role: 'assistant' as const, content: answer.content }]
      const result = { type: 'tool_result' as const, tool_use_id: 'call-1', content: 'No JSON.' }
      await client.messages.create({ ...baseRequest, messages: [...back, { role: 'user', content: [result] }] })
      expect(app.upstream.requests.at(-1)?.body.messages[1]).toMatchObject({ tool_calls: [call] })
    }
  },
)

test('the stop sequence that ended an answer is reported where the provider names it', async () => {
  const choice = { index: 0, message: { role: 'assistant', content: 'One' }, finish_reason: 'stop' }
  const stops = { ...baseRequest, messages, stop_sequences: ['Two', 'Three'] }
  const sendQuestion = async (more: object) => {
    app.upstream.behave = (_, response) => sendJson(response, { choices: [{ ...choice, ...more }] })
    const whole = await client.messages.create(stops)
    return [whole, await client.messages.stream(stops).finalMessage()].map((answer) => [
      answer.stop_reason,
      answer.stop_sequence,
    ])
  }

  expect(await sendQuestion({ stop_reason: 'Three' })).toEqual(Array(2).fill(['stop_sequence', 'Three']))
  for (const stop_reason of [null, 'Four', 151643, undefined])
    expect(await sendQuestion({ stop_reason })).toEqual(Array(2).fill(['end_turn', null]))
})

const model = () => createAnthropic({ apiKey: app.token, baseURL: `${app.svc.url}/v1` })('mock-1')

test('the AI SDK completes all rounds by its Anthropic provider, whole and streamed', async () => {
  const tools = { weather: tool({ inputSchema: jsonSchema(schema), execute: async () => 'Rain' }) }
  const loop = { model: model(), prompt: 'How is the weather in Jena?', tools, stopWhen: stepCountIs(3) }

  expect((await generateText(loop)).text).toBe('It rains.')
  expect(await streamText(loop).text).toBe('It rains.')
  expect(app.upstream.requests).toHaveLength(4)
})

test('the AI SDK reads answer and usage, and does not retry permanent failures', async () => {
  app.upstream.behave = answers('Good day.')
  const { text, usage } = await generateText({ model: model(), prompt: 'How do you do?' })
  app.upstream.requests.length = 0
  app.upstream.behave = refuses(400)
  const refusal = await generateText({ model: model(), prompt: 'How do you do?' }).catch((error) => error)

  expect(text).toBe('Good day.')
  expect(usage).toMatchObject({ inputTokens: 7, outputTokens: 3 })
  expect(refusal).toMatchObject({ statusCode: 400 })
  expect(app.upstream.requests).toHaveLength(1)
})

test.for([false, true])('the runner of tools of Anthropic goes through all rounds (streamed: %s)', async (stream) => {
  const run = betaTool({
    name: 'weather',
    description: 'Tells the weather.',
    inputSchema: schema,
    defer_loading: false,
    run: () => 'Rain',
  })
  const question = { model: 'mock-1', max_tokens: 100, messages, tools: [run] }
  const last = stream
    ? await client.beta.messages.toolRunner({ ...question, stream: true }).runUntilDone()
    : await client.beta.messages.toolRunner(question).runUntilDone()

  expect(last.content).toMatchObject([{ type: 'text', text: 'It rains.' }])
  expect(app.upstream.requests).toHaveLength(2)
})
