import { expect, test, vi } from 'vitest'
import { readLimitState, requestLimit, sendQuestion, shareLimitedService } from '../../kit/ai/limited-service.ts'
import { answers, buildQuestion } from '../../kit/ai/provider.ts'
import { SLOW } from '../../kit/service-client.ts'

const limited = shareLimitedService()

const spent = { ...requestLimit, name: 'day', per: 'day', cap: 1 }

test('of limits that refuse, one that only observes is never named', async () => {
  await using world = await limited([spent, { ...requestLimit, name: 'watched', cap: 1, mode: 'observe' }])
  const { token } = await world.svc.user()
  await sendQuestion(world.svc, token)
  await world.svc.services.ai.usageLedger.flush()

  const refusal = await sendQuestion(world.svc, token)

  expect(refusal.status).toBe(429)
  expect(((await refusal.json()) as { message: string }).message).toMatch(/^The limit 'day' has no room/)
  expect(Number(refusal.headers.get('retry-after'))).toBeLessThanOrEqual(86_400)
})

test('of refusing limits, a spent one is named before a reserved one', async () => {
  await using world = await limited([
    { ...requestLimit, name: 'mine', for: 'user', per: 'day', cap: 1 },
    { ...requestLimit, name: 'all', cap: 2 },
  ])
  const [one, other] = [await world.svc.user(), await world.svc.user()]
  await sendQuestion(world.svc, one.token)
  await world.svc.services.ai.usageLedger.flush()
  const { promise: go, resolve } = Promise.withResolvers<void>()
  world.provider.behave = async (request, response) => {
    await go
    await answers('Good day.')(request, response)
  }
  const underWay = sendQuestion(world.svc, other.token)
  await vi.waitUntil(() => world.provider.requests.length === 2, SLOW)

  const refusal = await sendQuestion(world.svc, one.token)
  resolve()

  expect(await refusal.json()).toMatchObject({
    code: 'limit_reached',
    message: expect.stringMatching(/^The limit 'mine' has no room/),
  })
  expect(refusal.headers.get('x-should-retry')).toBe('false')
  expect((await underWay).status).toBe(200)
})

test('a refusal for an unknown price says that retries do not help', async () => {
  await using world = await limited([{ ...requestLimit, unit: 'EUR', cap: 1 }])
  const { token } = await world.svc.user()

  const refusal = await sendQuestion(world.svc, token)

  expect([refusal.status, refusal.headers.get('x-should-retry')]).toEqual([429, 'false'])
})

test('a price of the input alone is none, and a money limit refuses', async () => {
  await using world = await limited([{ ...requestLimit, unit: 'EUR', cap: 1 }], {
    model: { pricing: { currency: 'EUR', inputPerMillion: 1, outputPerMillion: 1 } },
  })
  await world.svc.changeCatalogue(
    `update ai_models set pricing = jsonb_set(pricing, '{ranges,0,outputCostPerToken}', 'null')`,
  )
  const { token } = await world.svc.user()

  const refusal = await sendQuestion(world.svc, token)

  expect([refusal.status, world.provider.requests.length]).toEqual([429, 0])
  await world.svc.host.limits.remove({ name: 'all' })
  expect((await sendQuestion(world.svc, token)).status).toBe(200)
  await world.svc.services.ai.usageLedger.flush()
  expect(await world.svc.rows('select cost_micros from usage_records')).toEqual([{ cost_micros: null }])
})

test('a limit that only observes shortens no answer', async () => {
  await using world = await limited([{ ...requestLimit, unit: 'tokens', cap: 3, mode: 'observe' }], {
    env: { LIMITS_MAX_OUTPUT_TOKENS: '5' },
  })
  const { token } = await world.svc.user()

  const answer = await world.svc.send('POST', '/api/ai-req', {
    token,
    headers: { accept: 'text/event-stream' },
    body: buildQuestion(),
  })

  expect(await answer.text()).not.toContain('"cut"')
  expect(world.provider.requests.map(({ body }) => body['max_tokens'])).toEqual([undefined])
  expect(await readLimitState(world.svc, 'all')).toMatchObject({ used: 10, held: 0, refused: 1 })
})
