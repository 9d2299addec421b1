import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ProviderRequest, startProvider, writeConfig } from '../kit/ai/provider.ts'
import { startApp, type TestApp } from '../kit/app.ts'
import { openHost } from '../kit/command-line.ts'

const resources = new AsyncDisposableStack()
let upstream: Awaited<ReturnType<typeof startProvider>>
let elsewhere: Awaited<ReturnType<typeof startProvider>>
let svc: TestApp

beforeAll(async () => {
  upstream = resources.use(await startProvider())
  elsewhere = resources.use(await startProvider())
  const config = resources.use(await writeConfig(''))
  const provider = (id: string, adapter: string, more: object = {}) => ({
    id,
    adapter,
    apiUrl: upstream.url,
    apiKey: `key-of-${id}`,
    models: [],
    ...more,
  })
  await config.write({
    providers: [
      provider('told', 'openai-compatible', {
        modelStatusUrl: `${elsewhere.url}/state`,
        models: [{ id: 'busy', external: true }, { id: 'idle' }, { id: 'off' }, { id: 'gone' }],
      }),
      provider('router', 'openai-compatible', {
        models: [{ id: 'mine', upstreamId: 'acme/known', limits: { maxInputTokens: 5 } }],
      }),
      provider('shop', 'openai-compatible', {
        models: [{ id: 'own', upstreamId: 'shop/known', limits: { maxInputTokens: 5 } }],
      }),
      provider('claude', 'anthropic'),
      provider('gemini', 'google'),
      provider('mistral', 'mistral'),
      provider('demo', 'demo'),
    ],
  })
  svc = resources.use(await startApp({ AI_CONFIG: config.file }))
})
afterAll(() => resources[Symbol.asyncDispose]())

const headerOf = (request: ProviderRequest | undefined) => request?.headers.authorization

test('a status check reads status and demand, and sends the key nowhere else', async () => {
  upstream.listing = { data: [] }
  elsewhere.listing = {
    data: [
      { id: 'busy', status: 'ready', demand: 5 },
      { id: 'idle', status: 'ready', demand: 2 },
      { id: 'off', status: 'offline' },
    ],
  }
  const position = async () =>
    (await svc.rows<{ n: number }>("select count(*)::int as n from change_log where stream = 'all'"))[0]?.n ?? 0
  const before = await position()

  const checked = await svc.host.models.check()

  expect(checked.filter(({ provider }) => provider === 'told').map(({ provider: _, ...model }) => model)).toEqual([
    { modelId: 'busy', status: 'online', demand: 'high' },
    { modelId: 'idle', status: 'online', demand: 'medium' },
    { modelId: 'off', status: 'offline', demand: 'low' },
    { modelId: 'gone', status: 'offline', demand: 'low' },
  ])
  expect(elsewhere.listRequests.map(({ path }) => path)).toEqual(['/v1/state'])
  expect(headerOf(elsewhere.listRequests[0])).toBeUndefined()
  const { token } = await svc.user()
  const shown = await svc.send('GET', '/api/svc/v1/ai-models', { token })
  expect(await shown.json()).toMatchObject({
    data: expect.arrayContaining([
      expect.objectContaining({ attributes: expect.objectContaining({ modelId: 'busy', demand: 'high' }) }),
    ]),
  })
  // Exactly the models that changed are published as events.
  expect((await position()) - before).toBe(6)
  await svc.host.models.check()
  expect((await position()) - before).toBe(6)
})

const buildRouterList = (by: string) => ({
  data: [
    {
      id: `${by}/one`,
      name: 'One',
      context_length: 1000,
      top_provider: { max_completion_tokens: 100 },
      pricing: { prompt: '0.0000004', completion: '0.0000016' },
      architecture: { input_modalities: ['text', 'image'] },
    },
    { id: `${by}/known`, context_length: 7, pricing: { prompt: '0.000001', completion: '0.000002' } },
    { id: `${by}/odd`, context_length: 'many', pricing: 'dear' },
    { rubbish: true },
  ],
})

const lists: [name: string, listing: object, expected: object[]][] = [
  [
    'router',
    buildRouterList('acme'),
    [
      { modelId: 'acme/one', name: 'acme/one', does: 'add', members: 'limits, pricing' },
      { modelId: 'mine', name: 'acme/known', does: 'complete', members: 'pricing' },
      { modelId: 'acme/odd', name: 'acme/odd', does: 'add', members: '' },
    ],
  ],
  [
    'claude',
    {
      data: [{ type: 'model', id: 'claude-x', display_name: 'Claude X', max_input_tokens: 200_000, max_tokens: 8192 }],
    },
    [{ modelId: 'claude-x', name: 'claude-x', does: 'add', members: 'limits' }],
  ],
  [
    'gemini',
    {
      models: [
        {
          name: 'models/gemini-x',
          displayName: 'Gemini X',
          inputTokenLimit: 10,
          outputTokenLimit: 5,
          supportedGenerationMethods: ['generateContent'],
        },
        { name: 'models/embedding', supportedGenerationMethods: ['embedContent'] },
      ],
    },
    [{ modelId: 'gemini-x', name: 'gemini-x', does: 'add', members: 'limits' }],
  ],
  [
    'mistral',
    {
      data: [
        { id: 'mistral-x', name: 'mistral-x', max_context_length: 32_768, capabilities: { completion_chat: true } },
        { id: 'mistral-embed', capabilities: { completion_chat: false } },
      ],
    },
    [{ modelId: 'mistral-x', name: 'mistral-x', does: 'add', members: 'limits' }],
  ],
  [
    'told',
    { models: [{ name: 'llama3:8b', model: 'llama3:8b', size: 1 }, { name: 'mine' }] },
    [
      { modelId: 'llama3:8b', name: 'llama3:8b', does: 'add', members: '' },
      // The name is already taken by another provider's model.
      { modelId: 'told/mine', name: 'mine', does: 'add', members: '' },
    ],
  ],
]

test.for(lists)('the list of %s is imported once with its limits and prices', async ([provider, listing, expected]) => {
  upstream.listing = listing
  const count = () => svc.rows('select count(*) from ai_models')
  const before = await count()
  expect(await svc.host.models.import({ provider, dryRun: true })).toEqual(expected)
  expect(await count()).toEqual(before)

  expect(await svc.host.models.import({ provider })).toEqual(expected)

  expect(await svc.host.models.import({ provider })).toEqual([])
})

test('an imported model is switched off with listed values; known models keep theirs', async () => {
  upstream.listing = buildRouterList('shop')
  await svc.host.models.import({ provider: 'shop' })

  const models = await svc.rows(
    `select model_id as id, active, label, limits, input, pricing->'ranges'->0->>'outputCostPerToken' as price from ai_models
      where model_id in ('shop/one', 'own') order by model_id`,
  )

  expect(models).toEqual([
    {
      id: 'own',
      active: true,
      label: 'own',
      input: ['text'],
      price: '0.000002',
      limits: { maxInputTokens: 5 },
    },
    {
      id: 'shop/one',
      active: false,
      label: 'One',
      input: ['text', 'image'],
      price: '0.0000016',
      limits: { maxInputTokens: 1000, maxOutputTokens: 100 },
    },
  ])
  await svc.host.models.sync()
  expect(await svc.rows(`select model_id as id from ai_models where model_id = 'own' and pricing is not null`)).toEqual(
    [{ id: 'own' }],
  )
})

test('a provider without a list, or one that does not answer, changes nothing', async () => {
  expect(await svc.host.models.import({ provider: 'demo' })).toEqual([])
  upstream.listing = 'rubbish'
  await expect(svc.host.models.import({ provider: 'claude' })).rejects.toMatchObject({ problem: 'provider_failed' })
  await expect(svc.host.models.import({ provider: 'none' })).rejects.toMatchObject({ problem: 'not_found' })
})

test('svc models import shows what it would do, and writes nothing without a word', async () => {
  const provider = resources.use(await startProvider())
  provider.listing = { data: [{ id: 'one' }] }
  const config = resources.use(
    await writeConfig(provider.url, { provider: { models: [] }, more: { systemModels: {} } }),
  )
  await using machine = await openHost({ AI_CONFIG: config.file })
  await machine.run(['models', 'sync'])

  const dry = await machine.json('models', 'import', 'local', '--dry-run')
  const refusal = await machine.run(['models', 'import', 'local'])

  expect(dry).toMatchObject([{ modelId: 'one', does: 'add' }])
  expect([refusal.exitCode, refusal.stderr]).toEqual([2, expect.stringContaining('--yes')])
  expect(await machine.json('models', 'list')).toEqual([])
  expect(await machine.json('models', 'import', 'local', '--yes')).toMatchObject([{ modelId: 'one' }])
  expect(await machine.json('models', 'list')).toMatchObject([{ modelId: 'one', active: false }])
})
