import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import {
  answers,
  beginStream,
  buildChunk,
  callsTool,
  endStream,
  startProvider,
  writeConfig,
} from '../kit/ai/provider.ts'
import { startApp } from '../kit/app.ts'
import { pointersOf, startJsonApi } from '../kit/json-api/client.ts'

const resources = new AsyncDisposableStack()
let svc: Awaited<ReturnType<typeof startJsonApi>>
let upstream: Awaited<ReturnType<typeof startProvider>>
let token: string

const key = 'sk-of-open-web-ui'
const messages = [{ role: 'user', content: 'Hello' }]

beforeAll(async () => {
  upstream = resources.use(await startProvider())
  // Open WebUI's documentation gives the address in this form.
  const apiUrl = `${upstream.url.replace(/\/v1$/, '')}/api/chat/completions`
  const models = [
    { id: 'llama', upstreamId: 'llama3.1:latest', external: true },
    { id: 'gone', external: true },
    { id: 'embedder', upstreamId: 'nomic', modelType: 'embedding', external: true },
  ]
  const provider = { id: 'openWebUi', adapter: 'open_web_ui', apiUrl, apiKey: key, models }
  const config = resources.use(await writeConfig('', { provider, more: { systemModels: {} } }))
  svc = resources.use(await startJsonApi({ AI_CONFIG: config.file }))
  token = (await svc.user()).token
})
afterAll(() => resources.disposeAsync())
beforeEach(() => {
  upstream.behave = answers('Good day.')
  upstream.requests.length = 0
})

const sendQuestion = (more: object = {}) =>
  svc.send('POST', '/v1/chat/completions', { token, body: { model: 'llama', messages, ...more } })

test('a model of Open WebUI is called by its key, whole and streamed', async () => {
  expect(await (await sendQuestion()).json()).toMatchObject({ choices: [{ message: { content: 'Good day.' } }] })
  upstream.behave = (_, response) => {
    beginStream(response)
    response.write(`data: ${JSON.stringify({ sources: [{ source: { name: 'notes' }, document: ['A note.'] }] })}\n\n`)
    response.write(buildChunk({ delta: { content: 'Good evening.' } }))
    endStream(response)
  }
  expect(await (await sendQuestion({ stream: true })).text()).toContain('"content":"Good evening."')

  for (const { path, headers, body } of upstream.requests)
    expect([path, headers.authorization, body.model]).toEqual([
      '/api/chat/completions',
      `Bearer ${key}`,
      'llama3.1:latest',
    ])
  expect(upstream.requests).toHaveLength(2)
})

test('a model of Open WebUI calls functions, and refuses ids of tokens', async () => {
  upstream.behave = callsTool('weather', '{"place":"Ulm"}')
  const parameters = { type: 'object', properties: { place: { type: 'string' } } }
  const answer = await (
    await sendQuestion({ tools: [{ type: 'function', function: { name: 'weather', parameters } }] })
  ).json()
  expect(answer).toMatchObject({ choices: [{ message: { tool_calls: [{ function: { name: 'weather' } }] } }] })

  const embedding = { model: 'embedder', input: [[1, 2]] }
  const refusal = await svc.send('POST', '/v1/embeddings', { token, body: embedding })
  expect([refusal.status, await refusal.text()]).toEqual([400, expect.stringContaining('ids of tokens')])
})

test('the list of Open WebUI tells which of its models are online', async () => {
  upstream.listRequests.length = 0
  upstream.listing = {
    data: [
      { id: 'llama3.1:latest', name: 'Llama', object: 'model', owned_by: 'ollama', info: { meta: {} } },
      { id: 'arena-model', name: 'Arena', object: 'model', owned_by: 'arena', arena: true },
    ],
  }
  expect(await svc.host.models.check()).toEqual([
    { provider: 'openWebUi', modelId: 'llama', status: 'online', demand: 'low' },
    { provider: 'openWebUi', modelId: 'gone', status: 'offline', demand: 'low' },
    { provider: 'openWebUi', modelId: 'embedder', status: 'offline', demand: 'low' },
  ])
  expect(upstream.listRequests.map(({ path, headers }) => [path, headers.authorization])).toEqual([
    ['/api/models', `Bearer ${key}`],
  ])
})

test('a server that older files call openai_like uses the protocol of OpenAI', async () => {
  const provider = { adapter: 'openai_like', apiUrl: upstream.url, apiKey: key }
  await using config = await writeConfig('', { provider })
  await using older = await startApp({ AI_CONFIG: config.file })
  const { token } = await older.user()
  const body = { model: 'mock-1', messages }
  const answer = await (await older.send('POST', '/v1/chat/completions', { token, body })).json()
  expect(answer).toMatchObject({ choices: [{ message: { content: 'Good day.' } }] })
  expect(await older.rows('select adapter from ai_providers')).toEqual([{ adapter: 'openai-compatible' }])
})

test('administrators add an Open WebUI with its address, and not without', async () => {
  const provided = { providerId: 'other', name: 'Other', adapter: 'open_web_ui' }
  const refusal = await svc.admin.create('ai-providers', provided)
  expect([refusal.status, pointersOf(refusal)]).toEqual([422, ['/data/attributes']])
  const { status, one } = await svc.admin.create('ai-providers', { ...provided, apiUrl: 'https://ui.example.org/api' })
  expect([status, one.attributes['adapter']]).toEqual([201, 'open_web_ui'])
})
