import { expect, test } from 'vitest'
import { requestLimit } from '../../kit/ai/limited-service.ts'
import { answers, buildQuestion, refuses, startProvider, writeConfig } from '../../kit/ai/provider.ts'
import { startApp } from '../../kit/app.ts'

const price = (outputPerMillion: number) => ({ currency: 'EUR', inputPerMillion: 1, outputPerMillion })

/** Starts a service whose first model cannot answer, so its fallback does. */
async function startWith(limits: object[]) {
  await using resources = new AsyncDisposableStack()
  const provider = resources.use(
    await startProvider((request, response) =>
      (request.body.model === 'first' ? refuses(401) : answers('From second.'))(request, response),
    ),
  )
  const models = [
    { id: 'first', external: true, pricing: price(2), fallback: ['second'] },
    { id: 'second', external: true, pricing: price(6) },
  ]
  const more = { systemModels: { default: 'first' } }
  const config = resources.use(await writeConfig(provider.url, { provider: { models }, more }))
  const svc = resources.use(await startApp({ AI_CONFIG: config.file, LIMITS_MAX_OUTPUT_TOKENS: '100' }))
  for (const limit of limits) await svc.host.limits.set({ ...requestLimit, ...limit } as never)
  const { token } = await svc.user()
  const disposables = resources.move()
  return {
    svc,
    provider,
    sendQuestion: () => svc.send('POST', '/api/ai-req', { token, body: buildQuestion('Hello', 'first') }),
    async states() {
      await svc.services.ai.usageLedger.flush()
      return (await svc.host.limits.list()).map(({ used, held }) => [used, held])
    },
    records: () => svc.rows('select model, outcome, cost_micros::int as cost from usage_records order by id'),
    [Symbol.asyncDispose]: () => disposables.disposeAsync(),
  }
}

const fallbackRecords = [{ model: 'second', outcome: 'completed', cost: 7 + 3 * 6 }]

test.for<[string, object[], number[][]]>([
  ['a single request', [{ cap: 1 }], [[1, 0]]],
  ['a single request of each user', [{ cap: 1, for: 'user' }], [[1, 0]]],
  ['the tokens of a single call', [{ cap: 110, unit: 'tokens' }], [[10, 0]]],
  ['the cost of a single call', [{ cap: 0.00061, unit: 'EUR' }], [[25, 0]]],
  [
    'a request of each of both models',
    [
      { name: 'one', for: 'model:first', cap: 1 },
      { name: 'other', for: 'model:second', cap: 1 },
    ],
    [
      [0, 0],
      [1, 0],
    ],
  ],
])('another model answers where limits have room for %s', async ([, limits, states]) => {
  await using world = await startWith(limits)

  const answer = await world.sendQuestion()

  expect([answer.status, answer.headers.get('x-answered-by')]).toEqual([200, 'second'])
  expect(await world.states()).toEqual(states)
  expect(await world.records()).toEqual(fallbackRecords)
})

test('a call whose fallback exceeds a limit is recorded as failed, counted once', async () => {
  await using world = await startWith([
    { name: 'all', cap: 5 },
    { name: 'second', for: 'model:second', unit: 'tokens', cap: 50 },
  ])

  expect((await world.sendQuestion()).status).toBe(500)

  expect(await world.states()).toEqual([
    [1, 0],
    [0, 0],
  ])
  expect(await world.records()).toEqual([{ model: 'first', outcome: 'failed', cost: 0 }])
})

test('a model with half a price answers in place of an unpriced one', async () => {
  await using world = await startWith([])
  await world.svc.changeCatalogue(
    `update ai_models set pricing = jsonb_set(pricing, '{ranges,0,outputCostPerToken}', 'null') where model_id = 'second'`,
  )

  expect((await world.sendQuestion()).status).toBe(500)
  expect(world.provider.requests.map(({ body }) => body.model)).not.toContain('second')
})

test('a fallback is checked against a limit that was set during the call', async () => {
  await using world = await startWith([])
  world.provider.behave = async (request, response) => {
    await world.svc.host.limits.set({ ...requestLimit, name: 'second', for: 'model:second', cap: 0 } as never)
    refuses(401)(request, response)
  }

  expect((await world.sendQuestion()).status).toBe(500)

  expect(world.provider.requests.map(({ body }) => body.model)).toEqual(['first'])
  await world.svc.services.ai.usageLedger.flush()
  expect(await world.records()).toEqual([{ model: 'first', outcome: 'failed', cost: 0 }])
})
