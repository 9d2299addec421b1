import { expect, test, vi } from 'vitest'
import { shareLimitedService } from '../../kit/ai/limited-service.ts'
import { type Behaviour, behavesInTurn, buildCompletion, buildQuestion, sendJson } from '../../kit/ai/provider.ts'
import type { TestApp } from '../../kit/app.ts'
import { createApiClient, emptyCatalogue } from '../../kit/json-api/client.ts'
import { waitForLocks } from '../../kit/locks.ts'
import { openClient } from '../../kit/postgres-client.ts'
import { SLOW } from '../../kit/service-client.ts'

/** Answers with these counts of tokens. */
const takes =
  (input: number, output: number): Behaviour =>
  (_, response) =>
    sendJson(response, { ...buildCompletion('Good day.'), usage: { prompt_tokens: input, completion_tokens: output } })

const limit = { name: 'all', for: 'installation', cap: 1_000_000, unit: 'tokens', per: 'month' }

const limited = shareLimitedService()

async function startWith(behave: Behaviour) {
  const world = await limited([])
  const { svc, provider } = world
  provider.behave = behave
  const admin = await svc.user({ role: 'admin', abilities: ['ai', 'read', 'write'] })
  return {
    svc,
    sendQuestion: () => svc.send('POST', '/api/ai-req', { token: admin.token, body: buildQuestion() }),
    admin: createApiClient(svc, admin.token),
    async [Symbol.asyncDispose]() {
      await world[Symbol.asyncDispose]()
      // A dropped record leaves its reservation behind.
      await svc.rows('delete from usage_holds')
      for (const name of ['refuse', 'wait_for_test']) await svc.rows(`drop function if exists ${name} cascade`)
      await emptyCatalogue(svc)
    },
  }
}

async function stateOf(svc: TestApp) {
  await svc.services.ai.usageLedger.flush()
  const [state] = await svc.host.limits.list()
  return state && { used: state.used, held: state.held }
}

test("a provider that counts impossibly many tokens does not block others' commits", async () => {
  await using world = await startWith(behavesInTurn(takes(4e9, 4e9), takes(7, 3)))
  await world.svc.host.limits.set(limit as never)

  await world.sendQuestion()
  await world.svc.host.limits.set({ ...limit, cap: 1e12 } as never)
  await world.sendQuestion()

  const state = await stateOf(world.svc)
  const [first, second] = await world.svc.rows<{ input: number; output: number }>(
    'select input_tokens as input, output_tokens as output from usage_records order by id',
  )
  expect(second).toEqual({ input: 7, output: 3 })
  expect(state).toEqual({ used: Number(first?.input) + Number(first?.output) + 10, held: 0 })
  // The counts are cut to what was sent and requested, with a margin for hidden tokens.
  expect(state?.used).toBeLessThan(50_000)
})

test('a call beyond the range of its known price uses its whole reservation', async () => {
  await using world = await startWith(takes(7, 3))
  await world.svc.host.limits.set({ ...limit, unit: 'EUR' } as never)
  const [model] = (await world.admin.get('/ai-models')).list
  const costs = { inputCostPerToken: 0.000001, outputCostPerToken: 0.000002 }
  const others = { inputCostPerCachedToken: null, outputCostPerReasoningToken: null }
  const ranges = [{ currency: 'EUR', ...costs, ...others, range: [0, 5] }]
  await world.admin.update('ai-models', model?.id ?? '', { pricing: { ranges, priorityRanges: null } })

  expect((await world.sendQuestion()).status).toBe(200)

  // The reservation is two tokens of input and the longest answer that the settings allow.
  expect(await stateOf(world.svc)).toEqual({ used: 2 + 2 * 4096, held: 0 })
  expect(await world.svc.rows('select cost_micros from usage_records')).toEqual([{ cost_micros: null }])
})

test('a call whose record the database refuses blocks no other, and is logged', async () => {
  await using world = await startWith(takes(7, 3))
  await world.svc.host.limits.set(limit as never)
  const { id, token } = await world.svc.user()
  await world.svc.rows(`create function refuse() returns trigger language plpgsql as $$
    begin if new.user_id = ${id} then raise exception 'refused'; end if; return new; end $$`)
  await world.svc.rows('create trigger refuse before insert on usage_records for each row execute function refuse()')

  const logStart = world.svc.log.length
  const sendRefused = () => world.svc.send('POST', '/api/ai-req', { token, body: buildQuestion() })
  const attempts = [0, 1, 2, 3, 4, 5, 6, 7].map((call) => (call % 4 === 1 ? sendRefused() : world.sendQuestion()))
  const answers = await Promise.all(attempts)

  expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(200))
  const droppedLines = () =>
    world.svc.log.slice(logStart).filter((line) => line.includes('an item cannot be written, and is dropped'))
  await vi.waitFor(() => expect(droppedLines()).toHaveLength(2), SLOW)
  expect(await world.svc.rows('select count(*)::int as calls from usage_records')).toEqual([{ calls: 6 }])
})

test('calls begin while the records of others are being written, however long that takes', async () => {
  await using world = await startWith(takes(7, 3))
  const { svc } = world
  await svc.host.limits.set(limit as never)
  await svc.rows(`create function wait_for_test() returns trigger language plpgsql as $$
      begin perform pg_advisory_xact_lock(1); return new; end $$;
    create trigger waits before insert on usage_records for each row execute function wait_for_test()`)
  await using client = await openClient(svc.env.DATABASE_URL)
  await client.query('select pg_advisory_lock(1)')
  await world.sendQuestion()
  await waitForLocks(svc.env.DATABASE_URL)

  expect((await world.sendQuestion()).status).toBe(200)

  await client.query('select pg_advisory_unlock(1)')
  expect(await stateOf(svc)).toEqual({ used: 20, held: 0 })
})

test("calls begin during a person's removal, whose last record is kept without them", async () => {
  const ends = Promise.withResolvers<void>()
  await using world = await startWith(
    behavesInTurn(
      async (...args) => {
        await ends.promise
        takes(7, 3)(...args)
      },
      takes(7, 3),
    ),
  )
  const { svc } = world
  await svc.host.limits.set(limit as never)
  const { id, token } = await svc.user()
  const removed = svc.send('POST', '/api/ai-req', { token, body: buildQuestion() })
  await vi.waitFor(async () => expect(await svc.rows('select id from usage_holds')).toHaveLength(1), SLOW)
  await using client = await openClient(svc.env.DATABASE_URL)
  await client.query('begin')
  await client.query(`delete from access_tokens where user_id = ${id}`)
  ends.resolve()
  expect((await removed).status).toBe(200)
  await waitForLocks(svc.env.DATABASE_URL)

  expect((await world.sendQuestion()).status).toBe(200)

  await client.query(`delete from users where id = ${id}`)
  await client.query('commit')
  expect(await stateOf(svc)).toEqual({ used: 20, held: 0 })
  expect(await svc.rows('select token_id from usage_records where user_id is null')).toEqual([{ token_id: null }])
})
