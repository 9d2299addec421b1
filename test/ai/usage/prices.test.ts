import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { TokenCounts } from '../../kit/ai/dialects/dialect.ts'
import { shareLimitedService } from '../../kit/ai/limited-service.ts'
import { buildQuestion, callsTool, sendJson, startProvider, writeConfig } from '../../kit/ai/provider.ts'
import { type TokenScript, tokenScripts } from '../../kit/ai/token-scripts.ts'
import { startApp } from '../../kit/app.ts'
import { openHost } from '../../kit/command-line.ts'

const prices = {
  currency: 'EUR',
  inputPerMillion: 3,
  cachedInputPerMillion: 0.3,
  cacheWritePerMillion: 3.75,
  outputPerMillion: 15,
  reasoningPerMillion: 20,
  tiers: [
    { fromInputTokens: 200_000, inputPerMillion: 6, cachedInputPerMillion: 0.6, outputPerMillion: 22.5 },
    { fromInputTokens: 500_000, inputPerMillion: 12, outputPerMillion: 45 },
  ],
}

const counts = (more: Partial<TokenCounts>): TokenCounts => ({
  input: 0,
  output: 0,
  cached: 0,
  cacheWrite: 0,
  reasoning: 0,
  ...more,
})

/** Counts of tokens, and their price in millionths, calculated by hand from the list. */
const examples: [what: string, counted: TokenCounts, micros: number][] = [
  ['input and output', counts({ input: 1000, output: 200 }), 1000 * 3 + 200 * 15],
  ['cached input', counts({ input: 1000, cached: 900, output: 1 }), 100 * 3 + 900 * 0.3 + 15],
  ['reasoning within the output', counts({ input: 10, output: 100, reasoning: 60 }), 10 * 3 + 40 * 15 + 60 * 20],
  ['the last token below a tier', counts({ input: 199_999, output: 10 }), 199_999 * 3 + 10 * 15],
  ['the first token of a tier', counts({ input: 200_000, output: 10 }), 200_000 * 6 + 10 * 22.5],
  [
    'all of a call in the tier of its whole input, cached or not',
    counts({ input: 300_000, cached: 250_000, output: 10, reasoning: 4 }),
    50_000 * 6 + 250_000 * 0.6 + 10 * 22.5,
  ],
  [
    'cached input as other input, where the tier has no price for it',
    counts({ input: 600_000, cached: 100_000 }),
    600_000 * 12,
  ],
]

const kinds = tokenScripts.filter(({ name, adapter }) => name === adapter)

const limited = shareLimitedService()

async function startWith(script: TokenScript) {
  const world = await limited([], { provider: { adapter: script.adapter }, model: { pricing: prices } })
  const { svc, provider } = world
  const { token } = await svc.user()
  return Object.assign(world, {
    async costs(all: readonly TokenCounts[]): Promise<(number | null)[]> {
      for (const counted of all) {
        provider.behave = (_, response) => sendJson(response, script.whole(counted.output > 0 ? 'Fine.' : '', counted))
        // The question is that long, as counts above the number of sent bytes are cut.
        const body = buildQuestion('word '.repeat(Math.ceil(counted.input / 5)))
        expect((await svc.send('POST', '/api/ai-req', { token, body })).status).toBe(200)
      }
      await svc.services.ai.usageLedger.flush()
      const rows = await svc.rows<{ cost: number | null }>(
        'select cost_micros::float8 as cost from usage_records order by id',
      )
      return rows.map(({ cost }) => cost)
    },
  })
}

test('each round of a call is priced by its own length', async () => {
  const EXTENSIONS = fileURLToPath(new URL('../../fixtures/extension.ts', import.meta.url))
  const tokens = { prompt_tokens: 150_000, completion_tokens: 10, total_tokens: 150_010 }
  await using upstream = await startProvider(callsTool('weather', '{"city":"x"}', 'It rains.', tokens))
  await using config = await writeConfig(upstream.url, { model: { pricing: prices, tools: ['weather'] } })
  await using svc = await startApp({ AI_CONFIG: config.file, EXTENSIONS })
  const { token } = await svc.user()

  const body = buildQuestion('word '.repeat(30_000))
  expect((await svc.send('POST', '/api/ai-req', { token, body })).status).toBe(200)
  await svc.services.ai.usageLedger.flush()

  expect(upstream.requests).toHaveLength(2)
  const records = await svc.rows('select input_tokens, cost_micros::float8 as cost from usage_records')
  expect(records).toEqual([{ input_tokens: 300_000, cost: 2 * (150_000 * 3 + 10 * 15) }])
})

describe('a call costs by the list', () => {
  test.for(kinds.map((script): [string, TokenScript] => [script.name, script]))(
    'a call costs by the list of %s',
    async ([, script]) => {
      const billed = examples.filter(([, { reasoning }]) => reasoning === 0 || script.adapter !== 'mistral')
      await using app = await startWith(script)

      const costs = await app.costs(billed.map(([, counted]) => counted))

      expect(billed.map(([what], index) => [what, costs[index]])).toEqual(billed.map(([what, , cost]) => [what, cost]))
    },
  )

  test.for(
    kinds.filter(({ counts }) => counts.cacheWrite).map((script): [string, TokenScript] => [script.name, script]),
  )('and cache writes of %s have a price of their own', async ([, script]) => {
    await using app = await startWith(script)

    const costs = await app.costs([
      counts({ input: 1000, cached: 200, cacheWrite: 300, output: 10 }),
      counts({ input: 250_000, cacheWrite: 1000 }),
    ])

    expect(costs).toEqual([500 * 3 + 200 * 0.3 + 300 * 3.75 + 10 * 15, 250_000 * 6])
  })

  test('the cost of a call is rounded once, half a millionth up', async () => {
    await using app = await startWith(kinds[0] as TokenScript)

    // Each costs 0.3 millionths, which floating point cannot represent exactly.
    const costs = await app.costs([
      counts({ input: 5, cached: 5 }),
      counts({ input: 1, cached: 1 }),
      counts({ input: 199_995, cached: 199_995 }),
    ])

    expect(costs).toEqual([2, 0, 59_999])
  })
})

describe('a new price', () => {
  test('a new price holds for later requests, and changes no earlier record', async () => {
    await using provider = await startProvider()
    await using config = await writeConfig(provider.url, {
      model: { pricing: { currency: 'EUR', inputPerMillion: 100, outputPerMillion: 100 } },
    })
    await using svc = await startApp({ AI_CONFIG: config.file })
    const { token } = await svc.user()
    const sendQuestion = () => svc.send('POST', '/api/ai-req', { token, body: buildQuestion() })
    const rates = { inputPerMillion: 200, outputPerMillion: 200, webSearchPerThousand: 2.5 }
    await sendQuestion()
    await svc.services.ai.usageLedger.flush()

    const imported = await svc.host.prices.import({
      asOf: '2026-01-31',
      currency: 'USD',
      prices: [
        { model: 'mock-1', ...rates },
        { model: 'elsewhere', ...rates },
      ],
    })
    await svc.host.models.sync()
    await sendQuestion()
    await svc.services.ai.usageLedger.flush()

    expect(imported).toEqual({ prices: 2, changed: ['mock-1'], unknown: ['elsewhere'] })
    const versions = `select v.pricing->'ranges'->0->>'currency' as currency, u.cost_micros::int as cost, u.currency as paid,
                             (v.pricing->'ranges'->0->>'costPerWebSearch')::float8 as search
                        from usage_records u join model_prices v on v.id = u.price_id order by u.id`
    expect(await svc.rows(versions)).toEqual([
      { currency: 'EUR', paid: 'EUR', cost: 1000, search: null },
      { currency: 'USD', paid: 'USD', cost: 2000, search: 0.0025 },
    ])
    expect(await svc.rows(`select model, as_of::text as "asOf" from model_prices where id = 2`)).toEqual([
      { model: 'mock-1', asOf: '2026-01-31' },
    ])
  })

  test('a new price is a version from any source, unless nothing changes', async () => {
    await using svc = await startApp()
    const admin = await svc.user({ role: 'admin', abilities: ['read', 'write'] })
    const versions = () => svc.rows(`select model, pricing->>'free' as free from model_prices order by id`)
    const patch = (attributes: object) =>
      svc.send('PATCH', '/api/svc/v1/ai-models/1', {
        token: admin.token,
        headers: { 'content-type': 'application/vnd.api+json' },
        body: { data: { type: 'ai-models', id: '1', attributes } },
      })

    expect((await patch({ pricing: { free: true } })).status).toBe(200)
    await svc.host.prices.import({ currency: 'EUR', prices: [], free: ['demo'] })
    await patch({ label: 'Another' })
    expect(await versions()).toEqual([{ model: 'demo', free: 'true' }])

    await patch({ pricing: null })
    await patch({ modelId: 'other' })

    expect(await versions()).toEqual([
      { model: 'demo', free: 'true' },
      { model: 'demo', free: null },
      { model: 'other', free: null },
    ])
  })
})

describe('svc prices', () => {
  let machine: Awaited<ReturnType<typeof openHost>>
  beforeAll(async () => {
    machine = await openHost()
  })
  afterAll(() => machine[Symbol.asyncDispose]())

  async function listOf(text: string) {
    const folder = await mkdtemp(join(tmpdir(), 'svc-prices-'))
    const file = join(folder, 'prices.yaml')
    await writeFile(file, text)
    return { file, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) }
  }

  test('svc prices import reads a list, and check names missing and old prices', async () => {
    const searching = { nativeCapabilities: ['web_search'] }
    await using config = await writeConfig('http://127.0.0.1:1/v1', {
      provider: {
        adapter: 'openai',
        models: [
          { id: 'a' },
          { id: 'b', ...searching },
          { id: 'c' },
          { id: 'd' },
          // No caller asks these models to search.
          { id: 'e', ...searching, settings: { nativeCapabilities: false } },
          { id: 'f', ...searching, settings: { toolCalling: false } },
        ],
      },
      more: { systemModels: {} },
    })
    await using machine = await openHost({ AI_CONFIG: config.file })
    await machine.run(['models', 'sync'])
    await using old = await listOf(
      'asOf: 2020-01-31\ncurrency: EUR\nprices: [{model: a, inputPerMillion: 1, outputPerMillion: 2}]',
    )
    await using fresh = await listOf(
      `currency: EUR\nprices:\n${['b', 'e', 'f'].map((id) => `  - {model: ${id}, inputPerMillion: 1, outputPerMillion: 2}\n`).join('')}free: [c, z]\n`,
    )

    expect((await machine.run(['prices', 'import', old.file])).stdout).toBe('Prices in the list: 1, changed: 1.\n')
    expect((await machine.run(['prices', 'import', fresh.file])).stdout).toBe(
      'Prices in the list: 5, changed: 4. There are no models named z.\n',
    )

    expect(await machine.json('prices', 'check')).toEqual([
      { modelId: 'a', provider: 'local', asOf: '2020-01-31', price: 'outdated' },
      { modelId: 'b', provider: 'local', asOf: expect.any(String), price: 'none for web search' },
      { modelId: 'd', provider: 'local', asOf: null, price: 'none' },
    ])
    await using more = await listOf(
      'currency: EUR\nprices: [{model: b, inputPerMillion: 1, outputPerMillion: 2, webSearchPerThousand: 10}]',
    )
    await machine.run(['prices', 'import', more.file])
    expect(await machine.json('prices', 'check', '--days', '3650')).toMatchObject([{ modelId: 'd' }])
  })

  test.for<[string, string, string]>([
    [
      'a price that is missing',
      'currency: EUR\nprices:\n  - {model: a, inputPerMillion: 1}',
      'line 3, prices.0.outputPerMillion',
    ],
    [
      'a negative price',
      'currency: EUR\nprices:\n  - {model: a, inputPerMillion: -1, outputPerMillion: 1}',
      'line 3, prices.0.inputPerMillion',
    ],
    ['a word that is no currency', 'currency: euro\nprices: []', 'line 1, currency: must be a currency code'],
    ['a day that there is not', 'asOf: "0000-01-01"\ncurrency: EUR\nprices: []', 'line 1, asOf: must be a day such as'],
    ['a member that nobody knows', 'currency: EUR\nprices: []\nvat: 19', 'Unrecognized key: "vat"'],
    [
      'a model that stands there twice',
      'currency: EUR\nprices:\n  - {model: a, inputPerMillion: 1, outputPerMillion: 1}\n  - {model: a, inputPerMillion: 2, outputPerMillion: 1}',
      'line 4, prices.1.model: there are two of a',
    ],
    [
      'tiers in disorder',
      'currency: EUR\nprices:\n  - model: a\n    inputPerMillion: 1\n    outputPerMillion: 1\n    tiers:\n      - {fromInputTokens: 9, inputPerMillion: 1, outputPerMillion: 1}\n      - {fromInputTokens: 9, inputPerMillion: 1, outputPerMillion: 1}',
      'line 7, prices.0.tiers: must begin with the fewest tokens',
    ],
  ])('svc prices import refuses %s by line and path, and changes nothing', async ([, text, expected]) => {
    await using list = await listOf(text)

    const { exitCode, stderr } = await machine.run(['prices', 'import', list.file])

    expect(exitCode).toBe(1)
    expect(stderr).toContain(expected)
    expect(await machine.rows('select id from model_prices').catch(() => [])).toEqual([])
  })
})
