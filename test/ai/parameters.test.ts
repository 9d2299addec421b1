import { beforeAll, beforeEach, expect, test } from 'vitest'
import { joinDeltas, parseEvents } from '../kit/ai/event-stream.ts'
import { PROVIDER_KEY, type Protocol, protocols } from '../kit/ai/protocols.ts'
import {
  type Behaviour,
  beginStream,
  buildQuestion,
  callsTool,
  sendJson,
  startProvider,
  writeConfig,
} from '../kit/ai/provider.ts'
import { startApp, type TestUser } from '../kit/app.ts'
import { createApiClient } from '../kit/json-api/client.ts'
import { shareResource } from '../kit/share-resource.ts'

let admin: TestUser

const upstream = shareResource(startProvider)
const config = shareResource(() => writeConfig(upstream.url))
const svc = shareResource(() => startApp({ AI_CONFIG: config.file, EXTENSIONS: 'test/fixtures/extension.ts' }))
beforeAll(async () => {
  admin = await svc.user({ role: 'admin', abilities: ['ai', 'read', 'write', 'admin'] })
})
beforeEach(() => {
  upstream.requests.length = 0
})

let count = 0

/** Creates a model with a provider of its own for one test. */
async function addModel(model: object, provider: object = {}): Promise<string> {
  const id = `model-${++count}`
  const [own] = config.config.providers
  const models = [{ id, label: id, external: true, ...model }]
  await config.write({ providers: [{ ...own, id: `of ${id}`, ...provider, models }], systemModels: {} })
  await svc.host.models.sync()
  return id
}

const idOf = async (table: 'ai_models' | 'ai_providers', name: string) => {
  const column = table === 'ai_models' ? 'model_id' : 'provider_id'
  const [row] = await svc.rows<{ id: number }>(`select id from ${table} where ${column} = $1`, [name])
  return String(row?.id)
}

const speaks =
  ({ answer, events }: Protocol): Behaviour =>
  ({ path, body }, response) => {
    if (!body.stream && !path.includes('stream')) return sendJson(response, answer)
    beginStream(response)
    response.end(events.join(''))
  }

/** Returns the bodies that a provider gets for a model, whole and streamed. */
async function readProviderBodies(protocol: Protocol, model: object) {
  upstream.behave = speaks(protocol)
  const provider = { adapter: protocol.adapter, apiKey: PROVIDER_KEY }
  const id = await addModel({ upstreamId: 'up-1', ...model }, provider)
  const { token } = admin
  for (const accept of ['application/json', 'text/event-stream']) {
    const response = await svc.send('POST', '/api/ai-req', {
      token,
      headers: { accept },
      body: buildQuestion('Hello', id),
    })
    const text = await response.text()
    expect(accept === 'application/json' ? JSON.parse(text).content.text : joinDeltas(parseEvents(text))).toBe(
      'Hello there.',
    )
  }
  return upstream.requests.map(({ body }) => body)
}

const protocolOf = (adapter: Protocol['adapter']) => {
  const found = protocols.find((protocol) => protocol.adapter === adapter)
  if (!found) throw new Error(`no protocol ${adapter}`)
  return found
}

const thinks = { temperature: 0.5, topP: 0.75, maxTokens: 6000, maxThinkingTokens: 2000 }
const completions = { temperature: 0.5, top_p: 0.75, max_tokens: 5000 }
const extra = { seed: 7, nested: { one: [1], two: { three: null } } }

/** The body that each kind of provider gets for a model with answers of at most 5000 tokens. */
const expectedBodies: [Protocol['adapter'], parameters: object, body: object][] = [
  ['openai-compatible', { ...thinks, ...extra }, { ...completions, ...extra }],
  ['mistral', { ...thinks, ...extra }, { ...completions, ...extra }],
  ['openai', { ...thinks, ...extra }, { temperature: 0.5, top_p: 0.75, max_output_tokens: 5000, ...extra }],
  [
    'anthropic',
    { ...thinks, ...extra },
    { max_tokens: 5000, thinking: { type: 'enabled', budget_tokens: 2000 }, ...extra },
  ],
  ['anthropic', { temperature: 0.5, ...extra }, { temperature: 0.5, max_tokens: 5000, ...extra }],
  ['anthropic', { maxThinkingTokens: 1023 }, { max_tokens: 5000, messages: expect.any(Array) }],
  [
    'google',
    { ...thinks, ...extra, generationConfig: { seed: 7, thinkingConfig: { includeThoughts: true } } },
    {
      generationConfig: {
        temperature: 0.5,
        topP: 0.75,
        maxOutputTokens: 5000,
        seed: 7,
        thinkingConfig: { thinkingBudget: 2000, includeThoughts: true },
      },
      ...extra,
    },
  ],
  [
    'google',
    { maxThinkingTokens: 4000, generationConfig: { maxOutputTokens: 9000 } },
    { generationConfig: { maxOutputTokens: 5000, thinkingConfig: { thinkingBudget: 2500 } } },
  ],
]

test.for(expectedBodies)(
  'a provider of the kind %s receives the parameters %j',
  async ([adapter, parameters, body]) => {
    const bodies = await readProviderBodies(protocolOf(adapter), { parameters, limits: { maxOutputTokens: 5000 } })

    expect(bodies).toHaveLength(2)
    expect(bodies[0]).toMatchObject(body)
    expect(bodies[1]).toMatchObject(body)
    expect(bodies.map(({ thinking }) => thinking)).toEqual(Array(2).fill((body as { thinking?: object }).thinking))
  },
)

test("a parameter is the request's, else the model's, else the provider's", async () => {
  upstream.behave = speaks(protocolOf('openai-compatible'))
  const { token } = admin
  const parameters = { temperature: 0.1, topP: 0.1, maxTokens: 10, top_k: 1, nested: { one: 1 } }
  const id = await addModel({ parameters: { topP: 0.2, maxTokens: 20, nested: { two: 2 } } }, { parameters })
  const sendQuestion = async () => {
    const body = { model: id, messages: [{ role: 'user', content: 'Well?' }], max_tokens: 30 }
    expect((await svc.send('POST', '/v1/chat/completions', { token, body })).status).toBe(200)
    return upstream.requests.at(-1)?.body
  }
  const expectedMembers = { top_p: 0.2, max_tokens: 30, nested: { two: 2 } }

  expect(await sendQuestion()).toMatchObject({ ...expectedMembers, temperature: 0.1, top_k: 1 })
  const providerId = await idOf('ai_providers', `of ${id}`)
  const set = (settings: object) => createApiClient(svc, token).update('ai-providers', providerId, { settings })
  expect((await set({ parameters: { temperature: 0.3 } })).status).toBe(200)
  const body = await sendQuestion()
  expect(body).toMatchObject({ ...expectedMembers, temperature: 0.3 })
  expect(body).not.toHaveProperty('top_k')
  const refusal = await set({ parameters: { top_p: 1, temperature: 3 } })
  expect(refusal.status).toBe(422)
  expect(refusal.errors.map(({ source }) => source?.pointer)).toEqual([
    '/data/attributes/settings/parameters/temperature',
    '/data/attributes/settings/parameters/top_p',
  ])
})

test('a bound of the answer below the limit of the model is kept', async () => {
  const model = { parameters: { maxTokens: 100 }, limits: { maxOutputTokens: 5000 } }

  const bodies = await readProviderBodies(protocolOf('openai-compatible'), model)

  expect(bodies.map((body) => body['max_tokens'])).toEqual([100, 100])
})

test('a model without parameters and limits has none in its requests', async () => {
  const [body] = await readProviderBodies(protocolOf('openai-compatible'), {})

  expect(Object.keys(body ?? {}).sort()).toEqual(['messages', 'model'])
})

test('a change of parameters takes effect with the next request', async () => {
  upstream.behave = speaks(protocolOf('mistral'))
  const { token } = admin
  const id = await addModel({ parameters: { seed: 1 } }, { adapter: 'mistral', apiKey: PROVIDER_KEY })
  const sendQuestion = () => svc.send('POST', '/api/ai-req', { token, body: buildQuestion('Hello', id) })

  await sendQuestion()
  const modelId = await idOf('ai_models', id)
  const changed = await createApiClient(svc, token).update('ai-models', modelId, { parameters: { seed: 2 } })
  await sendQuestion()

  expect(changed.status).toBe(200)
  expect(upstream.requests.map(({ body }) => body['seed'])).toEqual([1, 2])
})

async function rounds(settings: object, accept: string) {
  upstream.requests.length = 0
  upstream.behave = (request, response) => {
    const { body } = request
    const isTold = body['tool_choice'] === 'none' || !body.tools
    const behave = isTold ? speaks(protocolOf('openai-compatible')) : callsTool('weather', '{"city":"Bonn"}')
    // The model calls the tool again, whatever the result was.
    const messages = body.messages.filter(({ role }) => role !== 'tool')
    return behave({ ...request, body: { ...body, messages } }, response)
  }
  const body = buildQuestion('Hello', await addModel({ tools: ['weather'], settings }))
  const response = await svc.send('POST', '/api/ai-req', { token: admin.token, headers: { accept }, body })
  await response.text()
  return upstream.requests.map(({ body }) => (body.tools ? (body['tool_choice'] ?? 'auto') : 'none offered'))
}

const settings = { maxToolCallingRounds: 1, maxToolCallingRoundsStreaming: 2 }

test('tools of a model run for as many rounds as its settings say', async () => {
  expect(await rounds(settings, 'application/json')).toEqual(['auto', 'none'])
  expect(await rounds(settings, 'text/event-stream')).toEqual(['auto', 'auto', 'none'])
  expect(await rounds({}, 'application/json')).toEqual([...Array(5).fill('auto'), 'none'])
})

test('tools of a model are not offered where its settings exclude calls', async () => {
  expect(await rounds({ toolCalling: false }, 'application/json')).toEqual(['none offered'])
})

test('a parameter that the service writes itself is refused by its name', async () => {
  const modelId = await idOf('ai_models', await addModel({}))
  const parameters = { messages: [], top_p: 1, seed: 1 }

  const refusal = await createApiClient(svc, admin.token).update('ai-models', modelId, { parameters })

  expect(refusal.status).toBe(422)
  expect(refusal.errors.map(({ source, detail }) => [source?.pointer, detail])).toEqual([
    ['/data/attributes/parameters/messages', 'parameters.messages is written by the service itself.'],
    ['/data/attributes/parameters/top_p', 'parameters.top_p is called topP here.'],
  ])
})
