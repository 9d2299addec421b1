import { randomBytes } from 'node:crypto'
import { expect, test, vi } from 'vitest'
import { createClient } from '../../../facades/client/index.ts'
import { limited, readLimitState, requestLimit, sendQuestion } from '../../kit/ai/limited-service.ts'
import { answers } from '../../kit/ai/provider.ts'
import { startApp, type TestApp } from '../../kit/app.ts'

const SLOW = { timeout: 60_000, interval: 100 }
const pricing = { currency: 'EUR', inputPerMillion: 1, outputPerMillion: 2 }
const env = { APP_KEY: randomBytes(32).toString('base64') }
const month = { for: 'installation', cap: 1_000_000, per: 'month' }
const limits = ['requests', 'tokens', 'EUR'].map((unit) => ({ ...month, name: unit, unit }))

/** Makes leases expire at once, as if their process had been silent. */
const endLeases = ({ rows }: TestApp) =>
  rows(`create function end_lease() returns trigger language plpgsql as $$
      begin new.lease_until = now() - interval '1 s'; return new; end $$;
    create trigger ends before insert or update on usage_holds for each row execute function end_lease()`)

/** Inserts expired reservations of a process that no longer exists. */
const leaveHolds = ({ rows }: TestApp, count: number) =>
  rows(
    `insert into usage_holds (id, lease_until, context, provider, model, request_id, input_tokens, counters, amounts, measures)
     select nextval('usage_records_id_seq'), now() - interval '1 s', 'api', 'gone', 'gone', 'gone', 1, '{}', '{}', '{}'
       from generate_series(1, $1::int)`,
    [count],
  )

const readRecords = async ({ rows, services }: TestApp) => {
  await services.ai.usageLedger.flush()
  return rows(
    `select outcome, estimated, input_tokens as input, output_tokens as output, cost_micros::int as cost
       from usage_records where provider <> 'gone'`,
  )
}

/** Starts a service under limits in each unit whose provider answers when the test says so. */
async function startWaiting() {
  const world = await limited(limits, { env, model: { pricing } })
  const go = Promise.withResolvers<void>()
  world.provider.behave = async (request, response) => {
    await go.promise
    await answers('Good day.')(request, response)
  }
  await endLeases(world.svc)
  const { token } = await world.svc.user()
  const pendingCall = sendQuestion(world.svc, token)
  await vi.waitFor(() => expect(world.provider.requests).toHaveLength(1), SLOW)
  return Object.assign(world, {
    answered: async () => {
      go.resolve()
      return (await pendingCall).status
    },
    async used() {
      const states = await Promise.all(limits.map(({ name }) => readLimitState(world.svc, name)))
      return states.map((state) => [state?.used, state?.held])
    },
  })
}

const billed = [{ outcome: 'completed', estimated: false, input: 7, output: 3, cost: 7 + 2 * 3 }]

test.concurrent('a process that was silent for long does not settle its own calls', async ({ expect }) => {
  await using world = await startWaiting()

  await leaveHolds(world.svc, 1)
  await vi.waitFor(
    async () => expect(await world.svc.rows('select provider from usage_holds')).toEqual([{ provider: 'local' }]),
    SLOW,
  )

  expect(await readRecords(world.svc)).toEqual([])
  expect(await world.answered()).toBe(200)
  expect(await readRecords(world.svc)).toEqual(billed)
})

test.concurrent('a call that another process took for lost is billed once, as counted', async ({ expect }) => {
  await using world = await startWaiting()
  await using other = await startApp({ ...env, DATABASE_URL: world.svc.env.DATABASE_URL as string })

  const lost = { outcome: 'lost', estimated: true, input: 2, output: 0, cost: 2 }
  await vi.waitFor(async () => expect(await readRecords(other)).toEqual([lost]), SLOW)

  expect(await world.answered()).toBe(200)
  expect(await readRecords(world.svc)).toEqual(billed)
  expect(await world.used()).toEqual([
    [1, 0],
    [10, 0],
    [13, 0],
  ])
})

test.concurrent('all calls of dead processes are settled at once, however many', async ({ expect }) => {
  await using world = await limited([requestLimit])
  await leaveHolds(world.svc, 2600)

  await vi.waitFor(async () => expect(await world.svc.rows('select id from usage_holds limit 1')).toEqual([]), SLOW)

  expect(await world.svc.rows('select outcome, count(*)::int as count from usage_records group by 1')).toEqual([
    { outcome: 'lost', count: 2600 },
  ])
})

test.concurrent('reservations for two answers that nobody asks for end without a record', async ({ expect }) => {
  await using world = await limited([requestLimit])
  const { token } = await world.svc.user()
  const { ai } = createClient({ url: world.svc.url, token })
  const messages = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'Hello' }] }]
  await ai.reserve.mutate({ models: ['mock-1', 'mock-1'], messages })
  expect(await readLimitState(world.svc, 'all')).toMatchObject({ used: 0, held: 2 })

  await world.svc.rows("update usage_holds set lease_until = now() - interval '1 s'")
  await vi.waitFor(async () => expect(await world.svc.rows('select id from usage_holds')).toEqual([]), SLOW)

  expect(await readLimitState(world.svc, 'all')).toMatchObject({ used: 0, held: 0 })
  expect(await world.svc.rows('select outcome from usage_records')).toEqual([])
})
