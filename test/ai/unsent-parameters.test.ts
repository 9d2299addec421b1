import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { tool } from '../kit/ai/all-adapters.ts'
import { PROVIDER_KEY, protocols } from '../kit/ai/protocols.ts'
import { type ProviderRequest, refuses, sendJson, startProvider, writeConfig } from '../kit/ai/provider.ts'
import { readUsageRecords } from '../kit/ai/provider-service.ts'
import { startApp, type TestApp } from '../kit/app.ts'
import { signIn } from '../kit/browser.ts'

let svc: TestApp
let token: string
const requests: ProviderRequest[] = []
const failingModels = new Set<string>()
const resources = new AsyncDisposableStack()

const models: Record<string, object[]> = {
  openai: [
    { id: 'gpt-5' },
    { id: 'gpt-5.6' },
    { id: 'gpt-4.1', fallback: ['gpt-5', 'mistral-large-latest'] },
    { id: 'warm', upstreamId: 'gpt-5', parameters: { temperature: 0.5, topP: 0.5 } },
  ],
  anthropic: [
    { id: 'claude-sonnet-4-5' },
    { id: 'claude-opus-4-7' },
    { id: 'claude-opus-5-5' },
    { id: 'claude-sonnet-4-0' },
    { id: 'set', upstreamId: 'claude-sonnet-4-5', parameters: { temperature: 0.5 } },
    { id: 'thinking', upstreamId: 'claude-sonnet-4-5', parameters: { maxThinkingTokens: 2000 } },
    {
      id: 'short',
      upstreamId: 'claude-sonnet-4-5',
      parameters: { maxThinkingTokens: 2000 },
      limits: { maxOutputTokens: 1000 },
    },
  ],
  google: [{ id: 'gemini-2.5-flash' }],
  mistral: [{ id: 'mistral-large-latest' }],
}

beforeAll(async () => {
  const upstream = resources.use(
    await startProvider((got, response) => {
      requests.push(got)
      if (failingModels.has(got.body.model)) return refuses(500)(got, response)
      // OpenAI's older API answers like those of others.
      const path = got.path.replace('/openai/chat/', '/openai-compatible/chat/')
      sendJson(response, protocols.find(({ adapter }) => path.startsWith(`/v1/${adapter}/`))?.answer)
    }),
  )
  const config = resources.use(await writeConfig(upstream.url))
  const providers = Object.entries(models).map(([adapter, models]) => ({
    id: adapter,
    adapter,
    apiUrl: `${upstream.url}/${adapter}`,
    apiKey: PROVIDER_KEY,
    models: models.map((model) => ({ external: true, ...model })),
  }))
  await config.write({ providers, systemModels: {} })
  svc = resources.use(await startApp({ AI_CONFIG: config.file }))
  ;({ token } = await svc.user())
})
afterAll(() => resources.disposeAsync())
beforeEach(() => {
  requests.length = 0
  failingModels.clear()
})

const sendQuestion = async (model: string, more: object, path = '/v1/chat/completions') => {
  const body = { model, messages: [{ role: 'user', content: 'Well?' }], ...more }
  const response = await svc.send('POST', path, { token, headers: { 'anthropic-version': '2023-06-01' }, body })
  const { error } = (await response.json()) as { error?: { param?: string; message: string } }
  const ignored = response.headers.get('x-ignored-parameters')
  return { status: response.status, param: error?.param, message: error?.message, ...(ignored && { ignored }) }
}

const jsonOf = (schema: object) => ({ response_format: { type: 'json_schema', json_schema: { name: 'a', schema } } })
const closed = { type: 'object', properties: {}, additionalProperties: false }
/** An open schema, which Anthropic's models do not support natively. */
const open = { type: 'object', additionalProperties: { type: 'string' } }

const forced = { max_tokens: 8000, tools: [tool], tool_choice: 'required' }

const NOT_TAKEN = 'is nothing that this model takes'
const NOT_BESIDE = 'is nothing that this model takes beside the other parameters'

test.for<[model: string, parameters: object, param: string, problem: string]>([
  ['gpt-5', { temperature: 0.5 }, 'temperature', NOT_TAKEN],
  ['gpt-5', { top_p: 0.5, seed: 7 }, 'top_p', NOT_TAKEN],
  ['gpt-5', { temperature: 0.5, tools: [tool], stream: true }, 'temperature', NOT_TAKEN],
  ['claude-sonnet-4-5', { temperature: 1.7 }, 'temperature', 'must be at most 1 for this model'],
  ['claude-sonnet-4-5', { temperature: 0.5, top_p: 0.5 }, 'top_p', NOT_BESIDE],
  ['claude-sonnet-4-5', { temperature: 0.5, reasoning_effort: 'high' }, 'temperature', NOT_BESIDE],
  ['thinking', { temperature: 0.5 }, 'temperature', NOT_TAKEN],
  ['thinking', { temperature: 0.5, max_tokens: 8000 }, 'temperature', NOT_TAKEN],
  ['thinking', { temperature: 0.5, max_tokens: 8000, tools: [tool] }, 'temperature', NOT_TAKEN],
  ['claude-opus-4-7', { temperature: 0.5 }, 'temperature', NOT_TAKEN],
  ['claude-opus-4-7', { top_p: 0.5 }, 'top_p', NOT_TAKEN],
  ['claude-opus-5-5', forced, 'tool_choice', NOT_TAKEN],
  ['claude-opus-5-5', jsonOf(open), 'response_format', NOT_TAKEN],
])('%s with the parameters %j is refused without a call', async ([model, parameters, param, problem]) => {
  const records = await readUsageRecords(svc)

  expect(await sendQuestion(model, parameters)).toEqual({ status: 400, param, message: `'${param}' ${problem}.` })
  expect(requests).toEqual([])
  expect(await readUsageRecords(svc)).toEqual(records)
})

test.for<[model: string, parameters: object, sent?: object]>([
  ['gpt-4.1', { reasoning_effort: 'high' }],
  ['gpt-5.6', { reasoning_effort: 'high', seed: 7, tools: [tool] }, { seed: 7 }],
  ['claude-sonnet-4-5', { reasoning_effort: 'low', max_tokens: 1000, temperature: 0.5 }, { temperature: 0.5 }],
  ['claude-sonnet-4-5', { reasoning_effort: 'high', ...forced, temperature: 0.5 }, { temperature: 0.5 }],
  ['claude-sonnet-4-0', { reasoning_effort: 'high', ...jsonOf(closed), temperature: 0.5 }, { temperature: 0.5 }],
  ['mistral-large-latest', { reasoning_effort: 'high' }],
])('%s gets the parameters %j without the effort, which is named', async ([model, parameters, sent = {}]) => {
  expect(await sendQuestion(model, parameters)).toMatchObject({ ignored: 'reasoning_effort' })
  expect(requests[0]?.body).toMatchObject(sent)
  expect(JSON.stringify(requests[0]?.body)).not.toMatch(/"(?:low|high)"|"thinking"/)
})

test('each surface names an unsupported parameter in its own way', async () => {
  const response = { messages: undefined, input: 'Well?', reasoning: { effort: 'high', summary: 'concise' } }
  const message = { max_tokens: 100, top_p: 0.5 }

  const named = { status: 200, ignored: 'reasoning.effort, reasoning.summary' }
  expect(await sendQuestion('gpt-4.1', response, '/v1/responses')).toMatchObject(named)
  requests.length = 0
  const thinking = { type: 'enabled', budget_tokens: 2000 }
  const output_config = { format: { type: 'json_schema', schema: open } }
  const thought = { max_tokens: 8000, thinking, output_config }
  for (const [model, body, name] of [
    ['gpt-5', message, 'top_p'],
    ['claude-sonnet-4-5', thought, 'thinking.budget_tokens'],
    ['claude-opus-5-5', { max_tokens: 100, output_config }, 'output_config.format'],
  ] as const)
    expect(await sendQuestion(model, body, '/v1/messages')).toMatchObject({
      status: 400,
      message: expect.stringMatching(new RegExp(`^${name}: `)),
    })
  expect(requests).toEqual([])
})

/** JSON by a forced tool call, which thinking models cannot make. */
const byTool = { tools: [{ name: 'json' }], tool_choice: { type: 'any' } }

test.for<[model: string, parameters: object, body: object]>([
  ['gpt-5', { reasoning_effort: 'low' }, { reasoning: { effort: 'low' } }],
  ['gpt-4.1', { temperature: 1.7, top_p: 0.5, reasoning_effort: 'none' }, { temperature: 1.7, top_p: 0.5 }],
  ['claude-sonnet-4-5', { temperature: 1 }, { temperature: 1 }],
  ['claude-sonnet-4-5', { top_p: 0.5, stop: ['.'] }, { top_p: 0.5, stop_sequences: ['.'] }],
  ['claude-sonnet-4-5', { reasoning_effort: 'minimal' }, { model: 'claude-sonnet-4-5' }],
  ['thinking', { reasoning_effort: 'high', max_tokens: 8000 }, { thinking: { budget_tokens: 2000 } }],
  ['thinking', { temperature: 0.5, max_tokens: 500 }, { temperature: 0.5, max_tokens: 500 }],
  ['thinking', { temperature: 0.5, ...forced }, { temperature: 0.5, max_tokens: 8000 }],
  ['short', { temperature: 0.5 }, { temperature: 0.5, max_tokens: 1000 }],
  ['claude-sonnet-4-5', { reasoning_effort: 'low', max_tokens: 1000 }, { max_tokens: 1000 }],
  ['claude-sonnet-4-0', { ...jsonOf(closed), reasoning_effort: 'high', max_tokens: 8000 }, byTool],
  ['claude-sonnet-4-5', { ...jsonOf(open), reasoning_effort: 'high', max_tokens: 8000 }, byTool],
  [
    'claude-sonnet-4-5',
    { ...jsonOf(closed), reasoning_effort: 'high', max_tokens: 8000 },
    { thinking: { type: 'enabled' } },
  ],
  ['claude-opus-5-5', jsonOf(closed), { output_config: { format: { type: 'json_schema' } } }],
  ['claude-opus-4-7', { reasoning_effort: 'high' }, { thinking: { type: 'adaptive' } }],
  ['gemini-2.5-flash', { temperature: 1.7, top_p: 0.5 }, { generationConfig: { temperature: 1.7, topP: 0.5 } }],
  ['mistral-large-latest', { temperature: 1.2, top_p: 0.5, seed: 7 }, { temperature: 1.2, top_p: 0.5, random_seed: 7 }],
])('%s gets a request that fits the parameters %j', async ([model, parameters, body]) => {
  expect(await sendQuestion(model, parameters)).toMatchObject({ status: 200 })
  expect(requests[0]?.body).toMatchObject(body)
})

test('a model that continues without thoughts gets the parameters of non-thinking models', async () => {
  const used = { id: 'call', type: 'function', function: { name: tool.function.name, arguments: '{}' } }
  const question = { role: 'user', content: 'Well?' }
  const messages = [
    question,
    { role: 'assistant', content: null, tool_calls: [used] },
    { role: 'tool', tool_call_id: 'call', content: 'Rain.' },
  ]
  const parameters = { temperature: 0.5, max_tokens: 8000, tools: [tool] }

  expect(await sendQuestion('thinking', { ...parameters, messages })).toMatchObject({ status: 200 })
  expect(requests[0]?.body).toMatchObject({ temperature: 0.5 })
  const again = [...messages, { role: 'assistant', content: 'It rains.' }, question]
  expect(await sendQuestion('thinking', { ...parameters, messages: again })).toMatchObject({
    status: 400,
    param: 'temperature',
  })
})

test('an unsupported default is left out and logged once, unless callers override it', async () => {
  expect(await sendQuestion('warm', {})).toMatchObject({ status: 200 })
  expect(requests[0]?.body).not.toHaveProperty('temperature')
  expect(await sendQuestion('warm', {})).toMatchObject({ status: 200 })
  expect(await sendQuestion('warm', { reasoning_effort: 'low' })).toMatchObject({ status: 200 })
  const warnings = svc.log
    .filter((line) => line.includes('does not support its default'))
    .map((line) => JSON.parse(line))
  expect(warnings).toMatchObject([{ model: 'warm', parameters: ['temperature', 'topP'] }])

  expect(await sendQuestion('set', { top_p: 0.5 })).toMatchObject({ status: 200 })
  expect(requests.at(-1)?.body).toMatchObject({ top_p: 0.5 })
  expect(requests.at(-1)?.body).not.toHaveProperty('temperature')
  expect(await sendQuestion('set', {})).toMatchObject({ status: 200 })
  expect(requests.at(-1)?.body).toMatchObject({ temperature: 0.5 })
})

test("a model is a fallback only where it supports the request's parameters", async () => {
  failingModels.add('gpt-4.1')

  expect(await sendQuestion('gpt-4.1', { temperature: 0.5 })).toMatchObject({ status: 200 })
  expect(new Set(requests.map(({ body }) => body.model))).toEqual(new Set(['gpt-4.1', 'mistral-large-latest']))
})

test('older front ends are answered without parameters that the model lacks', async () => {
  const { browser: ada } = await signIn(svc, 'ada')
  const payload = {
    model: 'gpt-5',
    stream: false,
    params: { temp: 0.7, top_p: 0.9 },
    messages: [{ role: 'user', content: { text: 'Well?' } }],
  }

  const { body } = await ada.send('POST', '/req/streamAI', { body: { payload, broadcast: false } })
  expect(body).toMatchObject({ success: true })
  expect(requests[0]?.body).not.toHaveProperty('temperature')
})
