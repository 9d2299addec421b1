import { OpenAIEmbeddings } from '@langchain/openai'
import OpenAI from 'openai'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { PROVIDER_KEY } from '../../kit/ai/protocols.ts'
import {
  type Behaviour,
  behavesInTurn,
  canary,
  embeds,
  refuses,
  sendJson,
  startProvider,
  writeConfig,
} from '../../kit/ai/provider.ts'
import { readUsageRecords } from '../../kit/ai/provider-service.ts'
import { startApp, type TestApp } from '../../kit/app.ts'
import { SLOW } from '../../kit/service-client.ts'

let svc: TestApp
let token: string
let client: OpenAI
let upstream: Awaited<ReturnType<typeof startProvider>>
const resources = new AsyncDisposableStack()
const pricing = { currency: 'EUR', inputPerMillion: 10, outputPerMillion: 1000 }

/** Answers with embeddings in Google's format. */
const likeGoogle: Behaviour = ({ body }, response) => {
  const requests = body['requests'] as { outputDimensionality?: number }[]
  sendJson(response, {
    embeddings: requests.map(({ outputDimensionality: length = 2 }) => ({ values: Array(length).fill(1) })),
  })
}

beforeAll(async () => {
  upstream = resources.use(await startProvider(embeds))
  const config = resources.use(await writeConfig(upstream.url))
  const of = (id: string, more: object = {}) => ({ id, label: id, external: true, modelType: 'embedding', ...more })
  const models = {
    'openai-compatible': [
      of('embeds', { limits: { maxInputTokens: 100 }, pricing }),
      of('talks', { modelType: 'chat' }),
    ],
    openai: [of('openai-embeds')],
    mistral: [of('mistral-embeds')],
    google: [of('google-embeds', { pricing })],
    anthropic: [of('claude')],
  }
  const providers = Object.entries(models).map(([adapter, models]) => ({
    id: adapter,
    adapter,
    apiUrl: `${upstream.url}/${adapter}`,
    apiKey: PROVIDER_KEY,
    models,
  }))
  await config.write({ providers, systemModels: {} })
  svc = resources.use(await startApp({ AI_CONFIG: config.file }))
  token = (await svc.user()).token
  client = new OpenAI({ apiKey: token, baseURL: `${svc.url}/v1`, maxRetries: 0 })
})
afterAll(() => resources.disposeAsync())
beforeEach(() => {
  upstream.requests.length = 0
  upstream.behave = embeds
})

const refusedBy = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error) => error,
  )
const lastRecord = async () => (await readUsageRecords(svc)).at(-1)

test("the client of OpenAI reads embeddings in the texts' order, with usage", async () => {
  const { data, usage, model } = await client.embeddings.create({ model: 'embeds', input: ['a', 'three', 'a'] })

  expect(data.map(({ embedding }) => embedding)).toEqual([3, 7, 3].map((first) => [first, first + 0.25, first + 0.5]))
  expect({ usage, model }).toEqual({ usage: { prompt_tokens: 9, total_tokens: 9 }, model: 'embeds' })
  expect(await lastRecord()).toEqual({ outcome: 'completed', input: 9, output: 0 })
})

test('the clients of OpenAI list embedding models, those of Anthropic only chats', async () => {
  expect((await client.models.list()).data.map(({ id }) => id)).toEqual(expect.arrayContaining(['embeds', 'talks']))
  expect(await client.models.retrieve('embeds')).toMatchObject({ id: 'embeds' })
  const headers = { 'anthropic-version': '2023-06-01' }
  const toAnthropic = (path: string) => svc.send('GET', path, { token, headers })

  expect(await (await toAnthropic('/v1/models')).json()).toMatchObject({ data: [{ id: 'talks' }] })
  expect((await toAnthropic('/v1/models/embeds')).status).toBe(404)
})

test('embeddings come as numbers or bytes, in the requested length', async () => {
  const requestEmbeddings = (more: object) =>
    svc.send('POST', '/v1/embeddings', { token, body: { model: 'embeds', input: 'a', ...more } })
  const embeddingIn = async (response: Response) =>
    ((await response.json()) as { data: { embedding: unknown }[] }).data[0]?.embedding

  expect(await embeddingIn(await requestEmbeddings({ encoding_format: 'float', dimensions: 2 }))).toEqual([3, 3.25])
  const bytes = Buffer.from(Float32Array.from([3, 3.25]).buffer).toString('base64')
  expect(await embeddingIn(await requestEmbeddings({ encoding_format: 'base64', dimensions: 2 }))).toBe(bytes)
  expect(upstream.requests[0]?.body).toEqual({ model: 'embeds', input: ['a'], dimensions: 2 })
})

test('ids of tokens reach a provider that knows them, and are refused for others', async () => {
  await client.embeddings.create({ model: 'embeds', input: [1, 2, 3] })
  await client.embeddings.create({ model: 'embeds', input: [[1], [2, 3]] })
  expect(upstream.requests.map(({ body }) => body['input'])).toEqual([[[1, 2, 3]], [[1], [2, 3]]])

  const refusal = await refusedBy(client.embeddings.create({ model: 'mistral-embeds', input: [1, 2, 3] }))
  expect(refusal).toMatchObject({ status: 400, param: 'input[0]' })
  expect(upstream.requests).toHaveLength(2)
})

test('each kind of provider is asked in its own words', async () => {
  await client.embeddings.create({ model: 'openai-embeds', input: 'a', dimensions: 2 })
  await client.embeddings.create({ model: 'mistral-embeds', input: 'a', dimensions: 2 })
  upstream.behave = likeGoogle
  const { data } = await client.embeddings.create({ model: 'google-embeds', input: ['a', 'b'], dimensions: 4 })

  expect(data.map(({ embedding }) => embedding.length)).toEqual([4, 4])
  expect(upstream.requests).toMatchObject([
    { path: '/v1/openai/embeddings', body: { dimensions: 2, encoding_format: 'base64' } },
    { path: '/v1/mistral/embeddings', body: { output_dimension: 2 } },
    { path: '/v1/google/models/google-embeds:batchEmbedContents' },
  ])
})

test('LangChain embeds documents and a question', async () => {
  const embeddings = new OpenAIEmbeddings({
    apiKey: token,
    model: 'embeds',
    configuration: { baseURL: `${svc.url}/v1` },
  })

  expect(await embeddings.embedDocuments(['a', 'three'])).toEqual([3, 7].map((one) => [one, one + 0.25, one + 0.5]))
  expect(await embeddings.embedQuery('a')).toEqual([3, 3.25, 3.5])
})

test.for<[what: string, body: object, status: number, param: string]>([
  ['a model that talks', { model: 'talks' }, 404, 'model'],
  ['a model of a provider that embeds nothing', { model: 'claude' }, 404, 'model'],
  ['nothing to embed', { input: undefined }, 400, "input 'input' is required."],
  ['an empty text', { input: '' }, 400, 'input[0]'],
  ['no text', { input: [] }, 400, 'input'],
  ['more texts than are taken', { input: Array(2049).fill('a') }, 400, 'input'],
  ['a text that is longer than the model takes', { input: ['a', 'x'.repeat(401)] }, 400, 'input[1]'],
  ['ids that are none', { input: [1.5] }, 400, 'input[0]'],
  ['no dimensions', { dimensions: 0 }, 400, "'dimensions' must be at least 1."],
  ['an encoding that is not known', { encoding_format: 'hex' }, 400, 'encoding_format'],
])('%s is refused by the name of the parameter, without any call', async ([, body, status, param]) => {
  const response = await svc.send('POST', '/v1/embeddings', { token, body: { model: 'embeds', input: 'a', ...body } })

  expect(response.status).toBe(status)
  const { error } = (await response.json()) as { error: { param: string | null; message: string } }
  expect(`${error.param} ${error.message}`).toContain(param)
  expect(upstream.requests).toEqual([])
})

test('embeddings need a signed-in caller with the ability to ask models', async () => {
  const { token: unable } = await svc.user({ abilities: ['read'] })
  const body = { model: 'embeds', input: 'a' }

  expect((await svc.send('POST', '/v1/embeddings', { token: unable, body })).status).toBe(403)
  expect((await svc.send('POST', '/v1/embeddings', { body })).status).toBe(401)
})

test('a provider that fails or omits an embedding is reported without its words', async () => {
  upstream.behave = refuses(400)
  const failed = await refusedBy(client.embeddings.create({ model: 'embeds', input: 'a' }))
  expect(failed).toMatchObject({ status: 400, code: 'provider_failed' })
  expect(String(failed)).not.toContain(canary)
  expect(await lastRecord()).toEqual({ outcome: 'failed', input: 0, output: 0 })

  upstream.behave = (_, response) => sendJson(response, { data: [], usage: { prompt_tokens: 1 } })
  expect(await refusedBy(client.embeddings.create({ model: 'embeds', input: 'a' }))).toMatchObject({ status: 500 })
  expect(await lastRecord()).toEqual({ outcome: 'failed', input: 1, output: 0 })

  // An unreadable answer may have a cost, too.
  upstream.behave = (_, response) => sendJson(response, { data: 'none' })
  upstream.requests.length = 0
  expect(await refusedBy(client.embeddings.create({ model: 'embeds', input: 'abcd' }))).toMatchObject({ status: 500 })
  expect(await lastRecord()).toEqual({ outcome: 'failed', input: 1, output: 0 })
  expect(upstream.requests).toHaveLength(1)
})

test.for(['embeds', 'openai-embeds', 'google-embeds', 'mistral-embeds'])(
  'an error in place of the embeddings of %s is reported once, unpaid',
  async (model) => {
    const error = { message: canary, code: 503, status: 'UNAVAILABLE' }
    for (const body of [{ error }, { error: canary }, { object: 'error', message: canary }]) {
      upstream.requests.length = 0
      upstream.behave = (_, response) => sendJson(response, body)

      const refusal = await refusedBy(client.embeddings.create({ model, input: 'abcd' }))

      expect(refusal).toMatchObject({ status: 500, type: 'server_error', code: 'provider_failed' })
      expect(String(refusal)).not.toContain(canary)
      expect(await lastRecord()).toEqual({ outcome: 'failed', input: 0, output: 0 })
      expect(upstream.requests).toHaveLength(1)
    }
  },
)

test('of several requests for embeddings only the failed one is sent again', async () => {
  const input = Array(250).fill('abcd')
  const sizes = () => upstream.requests.map(({ body }) => (body['requests'] as unknown[]).length)

  upstream.behave = behavesInTurn(likeGoogle, refuses(503), likeGoogle)
  const { data } = await client.embeddings.create({ model: 'google-embeds', input })
  expect(data).toHaveLength(250)
  expect(sizes()).toEqual([100, 100, 100, 50])
  expect(await lastRecord()).toEqual({ outcome: 'completed', input: 250, output: 0 })

  upstream.requests.length = 0
  upstream.behave = behavesInTurn(likeGoogle, refuses(400))
  expect(await refusedBy(client.embeddings.create({ model: 'google-embeds', input }))).toMatchObject({ status: 400 })
  expect(sizes()).toEqual([100, 100])
  expect(await lastRecord()).toEqual({ outcome: 'failed', input: 100, output: 0 })
})

test('embeddings reserve and cost only their input, within the limits', async () => {
  const { promise: go, resolve } = Promise.withResolvers<void>()
  upstream.behave = async (request, response) => {
    await go
    await embeds(request, response)
  }
  await svc.host.limits.set({
    name: 'own',
    for: 'installation',
    cap: 30,
    unit: 'tokens',
    per: 'month',
    countFrom: 'now',
  } as never)
  const state = async () => (await svc.host.limits.list()).map(({ used, held }) => ({ used, held }))

  const pendingCall = client.embeddings.create({ model: 'embeds', input: ['x'.repeat(40), 'x'.repeat(40)] })
  await vi.waitFor(async () => expect(await state()).toEqual([{ used: 0, held: 20 }]), SLOW)
  const over = await refusedBy(client.embeddings.create({ model: 'embeds', input: ['x'.repeat(80)] }))
  resolve()
  await pendingCall

  expect(over).toMatchObject({ status: 429 })
  await svc.services.ai.usageLedger.flush()
  expect(await state()).toEqual([{ used: 9, held: 0 }])
  const [paid] = await svc.rows('select cost_micros::int as cost from usage_records order by id desc limit 1')
  expect(paid).toEqual({ cost: 90 })
  await svc.host.limits.remove({ name: 'own' })
})
