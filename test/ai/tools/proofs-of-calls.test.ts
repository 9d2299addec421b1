import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { beforeAll, beforeEach, expect, test } from 'vitest'
import { type Behaviour, sendJson, startProvider, writeConfig } from '../../kit/ai/provider.ts'
import { startApp } from '../../kit/app.ts'
import { shareResource } from '../../kit/share-resource.ts'

let openai: OpenAI
let anthropic: Anthropic

const proof = `${Buffer.alloc(3000, 'proof').toString('base64')}+/==`
const call = { functionCall: { name: 'weather', args: { place: 'Ulm' } } }

/** Answers as Gemini does: only the first of several calls has a signature. */
const calls: Behaviour = ({ path }, response) => {
  const content = { role: 'model', parts: [{ ...call, thoughtSignature: proof }, call] }
  const usageMetadata = { promptTokenCount: 7, candidatesTokenCount: 3, totalTokenCount: 10 }
  const answer = { candidates: [{ index: 0, content, finishReason: 'STOP' }], usageMetadata }
  if (!path.includes('stream')) return sendJson(response, answer)
  response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`data: ${JSON.stringify(answer)}\n\n`)
}

const upstream = shareResource(() => startProvider(calls))
const config = shareResource(() => {
  const provider = { adapter: 'google', apiUrl: upstream.url }
  return writeConfig(upstream.url, { provider })
})
const svc = shareResource(() => startApp({ AI_CONFIG: config.file }))
beforeAll(async () => {
  const { token: apiKey } = await svc.user()
  openai = new OpenAI({ apiKey, baseURL: `${svc.url}/v1` })
  anthropic = new Anthropic({ apiKey, baseURL: svc.url })
})
beforeEach(() => void upstream.requests.splice(0))

const parameters = { type: 'object' as const, properties: { place: { type: 'string' } } }
const model = 'mock-1'
const tools = [{ type: 'function' as const, name: 'weather', parameters, strict: null }]

const isCall = (item: { type: string }): item is OpenAI.Responses.ResponseFunctionToolCall =>
  item.type === 'function_call'

/** Returns the signatures of the calls that the provider gets back. */
function proofsSent() {
  const contents = (upstream.requests.at(-1)?.body['contents'] ?? []) as { parts: Record<string, unknown>[] }[]
  const sent = contents.flatMap(({ parts }) => parts).filter((part) => part['functionCall'])
  return sent.map((part) => part['thoughtSignature'])
}

test.each(['whole', 'streamed'])('a response that is sent back (%s) has the proofs of its calls', async (how) => {
  const input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: 'Well?' }]
  const settings = { model, input, tools, store: false }
  const { output } =
    how === 'whole' ? await openai.responses.create(settings) : await openai.responses.stream(settings).finalResponse()
  const called = (output as { type: string }[]).filter(isCall)
  expect(called.map(({ name }) => name)).toEqual(['weather', 'weather'])
  input.push(...(output as OpenAI.Responses.ResponseInput))
  for (const { call_id } of called) input.push({ type: 'function_call_output', call_id, output: 'Rain.' })

  await openai.responses.create({ ...settings, input })

  expect(proofsSent()).toEqual([proof, undefined])
})

test('an id of a foreign or unsigned call sends no signature', async () => {
  for (const id of [undefined, null, 'fc_67ccd2bf', 'fc_a~', 'call~cHJvb2Y', 'fc_a~b c']) {
    const called = { type: 'function_call', call_id: 'c', name: 'weather', arguments: '{}', id } as never
    const output = { type: 'function_call_output' as const, call_id: 'c', output: 'Rain.' }
    await openai.responses.create({ model, tools, input: [{ role: 'user', content: 'Well?' }, called, output] })
    expect([id, proofsSent()]).toEqual([id, [undefined]])
  }
})

test('a completion and a message sent back carry the signatures of their calls', async () => {
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'Well?' }]
  const question = {
    model,
    messages,
    tools: [{ type: 'function' as const, function: { name: 'weather', parameters } }],
  }
  const { choices } = await openai.chat.completions.create(question)
  const message = choices[0]?.message
  if (message) messages.push(message)
  for (const { id } of message?.tool_calls ?? []) messages.push({ role: 'tool', tool_call_id: id, content: 'Rain.' })
  await openai.chat.completions.create(question)
  expect(proofsSent()).toEqual([proof, undefined])

  const conversation: Anthropic.MessageParam[] = [{ role: 'user', content: 'Well?' }]
  const settings = { model, max_tokens: 100, tools: [{ name: 'weather', input_schema: parameters }] }
  const { content } = await anthropic.messages.create({ ...settings, messages: conversation })
  const results = content.flatMap((block) =>
    block.type === 'tool_use' ? { type: 'tool_result' as const, tool_use_id: block.id, content: 'Rain.' } : [],
  )
  await anthropic.messages.create({
    ...settings,
    messages: [...conversation, { role: 'assistant', content }, { role: 'user', content: results }],
  })
  expect(proofsSent()).toEqual([proof, undefined])
})

test("a server of the protocol of OpenAI gets back its calls' signatures", async () => {
  const functionCall = { name: 'weather', arguments: '{}' }
  const extra_content = { google: { thought_signature: proof } }
  const tool_calls = [{ index: 0, id: 'call-1', type: 'function', function: functionCall, extra_content }]
  const says: Behaviour = ({ body }, response) => {
    const isAnswered = body.messages.some(({ role }) => role === 'tool')
    const message = { role: 'assistant', ...(isAnswered ? { content: 'Rain.' } : { content: null, tool_calls }) }
    const finish_reason = isAnswered ? 'stop' : 'tool_calls'
    const answer = { id: 'c', created: 1, model: 'up', usage: { prompt_tokens: 7, completion_tokens: 3 } }
    if (!body.stream) return sendJson(response, { ...answer, choices: [{ index: 0, message, finish_reason }] })
    const chunk = { ...answer, choices: [{ index: 0, delta: message, finish_reason }] }
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`data: ${JSON.stringify(chunk)}\n\n`)
  }
  await using server = await startProvider(says)
  await using config = await writeConfig(server.url, { model: { tools: ['weather'] } })
  await using other = await startApp({ AI_CONFIG: config.file, EXTENSIONS: 'test/fixtures/extension.ts' })
  const client = new OpenAI({ apiKey: (await other.user()).token, baseURL: `${other.url}/v1` })
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'Well?' }]
  const question = { model, messages, tools: [{ type: 'function' as const, function: { name: 'rain', parameters } }] }
  const returned = { tool_calls: [{ id: 'call-1', function: functionCall, extra_content }] }

  for (const stream of [false, true]) {
    functionCall.name = 'rain'
    const streaming = stream ? client.chat.completions.stream({ ...question, stream: true }) : undefined
    const { choices } = await (streaming?.finalChatCompletion() ?? client.chat.completions.create(question))
    const calls = choices[0]?.message.tool_calls ?? []
    // The client adds members to a streamed message that it may not send back.
    const message = {
      role: 'assistant',
      tool_calls: calls.map((call) => ({ ...call, function: functionCall })),
    } as const
    const history = [...messages, message, { role: 'tool' as const, tool_call_id: 'call-1', content: 'Rain.' }]
    await client.chat.completions.create({ ...question, messages: history })
    expect([stream, server.requests.at(-1)?.body.messages[1]]).toMatchObject([stream, returned])

    functionCall.name = 'weather'
    const own = client.chat.completions
    await (stream ? own.stream({ model, messages }).finalChatCompletion() : own.create({ model, messages }))
    expect([stream, server.requests.at(-1)?.body.messages[1]]).toMatchObject([stream, returned])
  }
})
