import { expect, test } from 'vitest'
import { createClient } from '../../../facades/client/index.ts'
import { readLimitState, requestLimit, shareLimitedService } from '../../kit/ai/limited-service.ts'
import type { TestApp } from '../../kit/app.ts'

const limited = shareLimitedService()

const messages = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'Hello' }] }]

const tokenLimit = { name: 'tokens', for: 'installation', cap: 1000, unit: 'tokens', per: 'month' }

async function openAs(svc: TestApp) {
  const { token } = await svc.user()
  const { ai } = createClient({ url: svc.url, token })
  const reserve = async () => (await ai.reserve.mutate({ models: ['mock-1', 'mock-1'], messages })).reservations
  /** Asks for an answer and reads it to its end. */
  const ask = async (reservation?: string) => {
    const parts = await ai.completeStream.mutate({ model: 'mock-1', messages, ...(reservation && { reservation }) })
    const types: string[] = []
    for await (const { type } of parts) types.push(type)
    return types
  }
  return { ai, reserve, ask }
}

test('two answers are reserved before a model is asked, each with its part', async () => {
  await using world = await limited([requestLimit])
  const { reserve, ask } = await openAs(world.svc)

  const reservations = await reserve()

  expect(reservations).toHaveLength(2)
  expect(await readLimitState(world.svc, 'all')).toMatchObject({ used: 0, held: 2 })
  expect(world.provider.requests).toEqual([])

  await Promise.all(reservations.map(ask))

  expect(world.provider.requests).toHaveLength(2)
  expect(await readLimitState(world.svc, 'all')).toMatchObject({ used: 2, held: 0 })
  expect(await world.svc.rows('select outcome from usage_records')).toHaveLength(2)
  expect(await world.svc.rows('select id from usage_holds')).toEqual([])
})

test.for([
  ['requests', { ...requestLimit, cap: 1 }],
  ['tokens', { ...tokenLimit, cap: 150 }],
] as const)('of two answers neither is reserved if a limit in %s has room for one', async ([, limit]) => {
  await using world = await limited([limit], { env: { LIMITS_MAX_OUTPUT_TOKENS: '80' } })
  const { reserve, ask } = await openAs(world.svc)

  await expect(reserve()).rejects.toMatchObject({
    status: 429,
    code: 'limit_reached',
    message: expect.stringContaining(`'${limit.name}'`),
  })

  expect(await readLimitState(world.svc, limit.name)).toMatchObject({ used: 0, held: 0, refused: 1 })
  expect(await ask()).toContain('usage')
})

test('the refusal of two answers says what they take together', async () => {
  await using world = await limited([{ ...tokenLimit, cap: 150 }], { env: { LIMITS_MAX_OUTPUT_TOKENS: '80' } })
  const { reserve } = await openAs(world.svc)

  await expect(reserve()).rejects.toThrow(/^These 2 calls together may take \d+, and the limit 'tokens' is 150/)
})

test('a reservation without a call has used nothing', async () => {
  await using world = await limited([{ ...tokenLimit, cap: 10_000 }])
  const { reserve } = await openAs(world.svc)

  await reserve()

  expect((await readLimitState(world.svc, 'tokens'))?.held).toBeGreaterThan(0)
  expect(await world.svc.rows('select input_tokens, cost_micros::int from usage_holds')).toEqual(
    Array.from({ length: 2 }, () => ({ input_tokens: 0, cost_micros: 0 })),
  )
})

test('a person holds one pair of reservations at most', async () => {
  await using world = await limited([requestLimit])
  const { reserve } = await openAs(world.svc)

  await reserve()
  await reserve()
  await reserve()

  expect(await readLimitState(world.svc, 'all')).toMatchObject({ held: 2 })
})

test('a reservation of another person is neither taken over nor released', async () => {
  await using world = await limited([requestLimit])
  const [ada, bob] = [await openAs(world.svc), await openAs(world.svc)]
  const [reservation = ''] = await ada.reserve()

  await bob.ask(reservation)
  await bob.reserve()

  expect(await readLimitState(world.svc, 'all')).toMatchObject({ used: 1, held: 4 })
})

test('a reservation serves one call', async () => {
  await using world = await limited([{ ...requestLimit, cap: 3 }])
  const { reserve, ask } = await openAs(world.svc)
  const [reservation = ''] = await reserve()

  await ask(reservation)
  await ask(reservation)

  // The other one of the pair still holds its part.
  await expect(ask(reservation)).rejects.toMatchObject({ status: 429 })
  expect(await readLimitState(world.svc, 'all')).toMatchObject({ used: 2, held: 1 })
})

test('a reservation that has ended is not taken over', async () => {
  await using world = await limited([{ ...requestLimit, cap: 2 }])
  const { reserve, ask } = await openAs(world.svc)
  const [reservation = ''] = await reserve()
  await world.svc.rows("update usage_holds set lease_until = now() - interval '1 s'")

  await expect(ask(reservation)).rejects.toMatchObject({ status: 429 })
})

test('a pair with a model that is not allowed is refused, and reserves nothing', async () => {
  await using world = await limited([requestLimit])
  const { ai } = await openAs(world.svc)

  await expect(ai.reserve.mutate({ models: ['mock-1', 'unknown'], messages })).rejects.toMatchObject({ status: 422 })
  await expect(ai.reserve.mutate({ models: ['mock-1'], messages })).rejects.toMatchObject({
    issues: [{ path: ['models'], message: 'must be 2 models' }],
  })
  await expect(ai.completeStream.mutate({ model: 'mock-1', messages, reservation: '1 or 1=1' })).rejects.toMatchObject({
    status: 400,
  })

  expect(await readLimitState(world.svc, 'all')).toMatchObject({ used: 0, held: 0 })
})

test('a guest cannot reserve answers', async () => {
  await using world = await limited([])
  const { ai } = createClient({ url: world.svc.url })

  await expect(ai.reserve.mutate({ models: ['mock-1', 'mock-1'], messages })).rejects.toMatchObject({ status: 401 })
})
