import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { ChatOpenAI } from '@langchain/openai'
import { generateText, jsonSchema, stepCountIs, streamText, tool } from 'ai'
import OpenAI from 'openai'
import { beforeAll, beforeEach, expect, test } from 'vitest'
import { answers, callsTool } from '../../kit/ai/provider.ts'
import { startWithProvider } from '../../kit/ai/provider-service.ts'
import { startApp } from '../../kit/app.ts'
import { shareResource } from '../../kit/share-resource.ts'

let client: OpenAI

const app = shareResource(() => startWithProvider(answers('Good day.')))
beforeAll(() => {
  client = new OpenAI({ apiKey: app.token, baseURL: `${app.svc.url}/v1` })
})
beforeEach(() => {
  app.upstream.requests.length = 0
  app.upstream.behave = callsTool('weather', '{"place":"Jena"}', 'It rains.')
})

const schema = { type: 'object' as const, properties: { place: { type: 'string' as const } }, required: ['place'] }
const weather = {
  type: 'function' as const,
  function: { name: 'weather', description: 'Tells the weather.', parameters: schema },
}
const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'How is the weather in Jena?' }]
const reads = [
  { role: 'user' },
  { role: 'assistant', tool_calls: [{ id: 'call-1', function: { name: 'weather', arguments: '{"place":"Jena"}' } }] },
  { role: 'tool', tool_call_id: 'call-1', content: expect.stringContaining('Rain') },
]

test('the client of OpenAI runs a function, and the model reads its result', async () => {
  const first = await client.chat.completions.create({ model: 'mock-1', messages, tools: [weather] })
  const [choice] = first.choices
  if (!choice) throw new Error('no choice')
  const result = { role: 'tool' as const, tool_call_id: 'call-1', content: 'Rain' }
  const conversation = [...messages, choice.message, result]
  const second = await client.chat.completions.create({ model: 'mock-1', messages: conversation, tools: [weather] })

  expect(choice.finish_reason).toBe('tool_calls')
  expect(choice.message).toMatchObject({ content: null, tool_calls: [{ id: 'call-1', function: { name: 'weather' } }] })
  expect(second.choices[0]?.message.content).toBe('It rains.')
  expect(app.upstream.requests.map(({ body }) => body)).toMatchObject([{ tools: [weather] }, { messages: reads }])
})

test('the runner of the client of OpenAI completes all rounds, also streamed', async () => {
  const run = { function: async () => 'Rain', parse: JSON.parse, ...weather.function }
  const tools = [{ type: 'function' as const, function: run }]
  const whole = client.chat.completions.runTools({ model: 'mock-1', messages, tools })
  const stream = client.chat.completions.runTools({ model: 'mock-1', messages, tools, stream: true })

  expect(await whole.finalContent()).toBe('It rains.')
  expect(await stream.finalContent()).toBe('It rains.')
  expect(app.upstream.requests).toHaveLength(4)
})

test('the AI SDK goes through all rounds, whole and as they come', async () => {
  const model = createOpenAICompatible({ name: 'svc', apiKey: app.token, baseURL: `${app.svc.url}/v1` })('mock-1')
  const tools = { weather: tool({ inputSchema: jsonSchema(schema), execute: async () => 'Rain' }) }
  const settings = { model, prompt: 'How is the weather in Jena?', tools, stopWhen: stepCountIs(3) }

  expect((await generateText(settings)).text).toBe('It rains.')
  expect(await streamText(settings).text).toBe('It rains.')
  expect(app.upstream.requests).toHaveLength(4)
})

test('LangChain reads calls of functions whole and as they come', async () => {
  const configuration = { baseURL: `${app.svc.url}/v1` }
  const model = new ChatOpenAI({ apiKey: app.token, model: 'mock-1', configuration }).bindTools([weather])
  let streamed: unknown
  for await (const chunk of await model.stream('Well?')) streamed = chunk.tool_calls?.[0] ?? streamed

  expect((await model.invoke('Well?')).tool_calls).toMatchObject([{ name: 'weather', args: { place: 'Jena' } }])
  expect(streamed).toMatchObject({ name: 'weather', args: { place: 'Jena' } })
})

test("LangChain returns a function's result, and the model reads it", async () => {
  const configuration = { baseURL: `${app.svc.url}/v1` }
  const model = new ChatOpenAI({ apiKey: app.token, model: 'mock-1', configuration }).bindTools([weather])
  const question = { role: 'user', content: 'How is the weather in Jena?' }
  const first = await model.invoke([question])
  const [call] = first.tool_calls ?? []
  const conversation = [question, first, { role: 'tool', content: 'Rain', tool_call_id: call?.id ?? '' }]
  let streamed = ''
  for await (const { text } of await model.stream(conversation)) streamed += text

  expect((await model.invoke(conversation)).text).toBe('It rains.')
  expect(streamed).toBe('It rains.')
  expect(app.upstream.requests.map(({ body }) => body)).toMatchObject([
    { tools: [weather] },
    { messages: reads },
    { messages: reads },
  ])
})

test('the demo model calls functions, answers in JSON and obeys stop sequences', async () => {
  await using svc = await startApp()
  const demo = new OpenAI({ apiKey: (await svc.user()).token, baseURL: `${svc.url}/v1` })
  const sendQuestion = async (more: object = {}, conversation = messages) =>
    (await demo.chat.completions.create({ model: 'demo', messages: conversation, ...more })).choices[0]
  const format = { type: 'json_schema', json_schema: { name: 'place', schema } }
  const called = await sendQuestion({ tools: [weather] })
  const result = { role: 'tool' as const, tool_call_id: `${called?.message.tool_calls?.[0]?.id}`, content: 'Rain' }

  expect(called).toMatchObject({
    finish_reason: 'tool_calls',
    message: { tool_calls: [{ function: { name: 'weather', arguments: '{"place":"demo"}' } }] },
  })
  expect(
    called && (await sendQuestion({ tools: [weather] }, [...messages, called.message, result]))?.message.content,
  ).toContain('A tool answered: Rain')
  expect((await sendQuestion({ response_format: format }))?.message.content).toBe('{"place":"demo"}')
  expect((await sendQuestion({ stop: [' not an AI'] }))?.message.content).toBe('This is the demo model of svc,')
  expect(await sendQuestion({ max_tokens: 3 })).toMatchObject({
    finish_reason: 'length',
    message: { content: 'This is the' },
  })
  expect(await sendQuestion()).toEqual(await sendQuestion())
})
