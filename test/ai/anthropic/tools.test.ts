import { createAnthropic } from '@ai-sdk/anthropic'
import Anthropic from '@anthropic-ai/sdk'
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema'
import { generateText, jsonSchema, stepCountIs, streamText, tool } from 'ai'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { startWith } from '../../kit/ai/asked-provider.ts'
import { answers, callsTool, refuses } from '../../kit/ai/provider.ts'

type App = Awaited<ReturnType<typeof startWith>>
let app: App
let client: Anthropic

beforeAll(async () => {
  app = await startWith(answers('Good day.'))
  client = new Anthropic({ apiKey: app.token, baseURL: app.svc.url })
})
afterAll(() => app[Symbol.asyncDispose]())
beforeEach(() => {
  app.upstream.asked.length = 0
  app.upstream.behave = callsTool('weather', '{"place":"Jena"}', 'It rains.')
})

const schema = { type: 'object' as const, properties: { place: { type: 'string' as const } }, required: ['place'] }
const weather = { name: 'weather', description: 'Tells the weather.', input_schema: schema }
const messages: Anthropic.MessageParam[] = [{ role: 'user', content: 'How is the weather in Jena?' }]
const asked = { model: 'mock-1', max_tokens: 100, tools: [weather] }
const reads = [
  { role: 'user' },
  { role: 'assistant', tool_calls: [{ id: 'call-1', function: { name: 'weather', arguments: '{"place":"Jena"}' } }] },
  { role: 'tool', tool_call_id: 'call-1', content: expect.stringContaining('Rain') },
  { role: 'user', content: 'So?' },
]

test.for(['whole', 'streamed'] as const)(
  'the client of Anthropic runs a function that the model calls, and the model reads its result (%s)',
  async (how) => {
    const first =
      how === 'whole'
        ? await client.messages.create({ ...asked, messages, tool_choice: { type: 'any' } })
        : await client.messages.stream({ ...asked, messages, tool_choice: { type: 'any' } }).finalMessage()
    const second = await client.messages.create({
      ...asked,
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
    expect(app.upstream.asked[0]?.body).toMatchObject({
      tools: [{ type: 'function', function: { name: 'weather', parameters: schema } }],
      tool_choice: 'required',
    })
    expect(app.upstream.asked[1]?.body.messages).toMatchObject(reads)
  },
)

const model = () => createAnthropic({ apiKey: app.token, baseURL: `${app.svc.url}/v1` })('mock-1')

test('the AI SDK goes through all rounds by its provider for Anthropic, whole and as they come', async () => {
  const tools = { weather: tool({ inputSchema: jsonSchema(schema), execute: async () => 'Rain' }) }
  const loop = { model: model(), prompt: 'How is the weather in Jena?', tools, stopWhen: stepCountIs(3) }

  expect((await generateText(loop)).text).toBe('It rains.')
  expect(await streamText(loop).text).toBe('It rains.')
  expect(app.upstream.asked).toHaveLength(4)
})

test('the AI SDK reads an answer and its usage, and does not repeat what has failed for good', async () => {
  app.upstream.behave = answers('Good day.')
  const { text, usage } = await generateText({ model: model(), prompt: 'How do you do?' })
  app.upstream.asked.length = 0
  app.upstream.behave = refuses(400)
  const refused = await generateText({ model: model(), prompt: 'How do you do?' }).catch((error) => error)

  expect(text).toBe('Good day.')
  expect(usage).toMatchObject({ inputTokens: 7, outputTokens: 3 })
  expect(refused).toMatchObject({ statusCode: 400 })
  expect(app.upstream.asked).toHaveLength(1)
})

test.for([false, true])('the runner of tools of Anthropic goes through all rounds (streamed: %s)', async (stream) => {
  const run = betaTool({
    ...{ name: 'weather', description: 'Tells the weather.', inputSchema: schema },
    ...{ defer_loading: false, run: () => 'Rain' },
  })
  const question = { model: 'mock-1', max_tokens: 100, messages, tools: [run] }
  const last = stream
    ? await client.beta.messages.toolRunner({ ...question, stream: true }).runUntilDone()
    : await client.beta.messages.toolRunner(question).runUntilDone()

  expect(last.content).toMatchObject([{ type: 'text', text: 'It rains.' }])
  expect(app.upstream.asked).toHaveLength(2)
})
