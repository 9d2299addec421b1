import { randomBytes } from 'node:crypto'
import { describe, expect, test, vi } from 'vitest'
import type { ReachedLimit } from '../../../entities/ai/usage-notice.sql.ts'
import { configFor, question, startProvider } from '../../kit/ai/provider.ts'
import { startApp, type TestApp } from '../../kit/app.ts'
import { SLOW } from '../../kit/started.ts'

const limit = { name: 'each', for: 'user', cap: 10, unit: 'requests', per: 'month' } as const

/** Two replicas, and what both were told of limits. */
async function startTwo() {
  await using resources = new AsyncDisposableStack()
  const upstream = resources.use(await startProvider())
  const config = resources.use(await configFor(upstream.url))
  const settings = { AI_CONFIG: config.file, APP_KEY: randomBytes(32).toString('base64') }
  const one = resources.use(await startApp(settings))
  const two = resources.use(await startApp({ ...settings, DATABASE_URL: one.env.DATABASE_URL ?? '' }))
  const told: ReachedLimit[] = []
  for (const { services } of [one, two]) services.hooks.on('usage-limit-reached', (reached) => void told.push(reached))
  const kept = resources.move()
  const lines = () => [...one.log, ...two.log].filter((line) => line.includes('a usage limit is used up to'))
  return { one, two, told, lines, [Symbol.asyncDispose]: () => kept.disposeAsync() }
}

const ask = (svc: TestApp, token: string) => svc.send('POST', '/api/ai-req', { token, body: question() })

/** So many calls, half of them at each replica. */
const askOften = ({ one, two }: { one: TestApp; two: TestApp }, token: string, often: number) =>
  Promise.all(Array.from({ length: often }, (_, index) => ask(index % 2 ? one : two, token)))

/** Until what has ended is settled and looked at. */
const lookAt = async ({ one, two }: { one: TestApp; two: TestApp }) => {
  await Promise.all([one, two].map(({ services }) => services.usageLedger.flush()))
  await new Promise((done) => setTimeout(done, 1500))
}

describe('when a limit is nearly or wholly used up', () => {
  test('log and listeners are told once of each part of a limit that is used up, on all replicas together', async () => {
    await using world = await startTwo()
    const { one, told, lines } = world
    await one.host.limits.set(limit)
    const ada = await one.user()
    await askOften(world, ada.token, 7)
    await lookAt(world)
    expect(told).toEqual([])

    await askOften(world, ada.token, 1)
    await vi.waitFor(() => expect(told).toHaveLength(1), SLOW)
    await askOften(world, ada.token, 4)
    await vi.waitFor(() => expect(told).toHaveLength(2), SLOW)
    await askOften(world, ada.token, 4)
    await lookAt(world)

    const each = { limit: 'each', subject: 'user', subjectId: `${ada.id}`, unit: 'requests', mode: 'enforce', cap: 10 }
    expect(told).toEqual([
      { ...each, currency: null, period: 'month', percent: 80, used: 8, resetsAt: expect.stringMatching(/-01T00:00/) },
      { ...each, currency: null, period: 'month', percent: 100, used: 10, resetsAt: expect.any(String) },
    ])
    const logged = lines().map((line) => JSON.parse(line) as ReachedLimit)
    expect(logged.toSorted((a, b) => a.percent - b.percent)).toMatchObject([
      { level: 30, ...each, percent: 80, msg: 'a usage limit is used up to 80 percent' },
      { level: 30, ...each, percent: 100, msg: 'a usage limit is used up to 100 percent' },
    ])
  })

  test('log and listeners are told of a limit of each user for every person apart, and anew in the next period', async () => {
    await using world = await startTwo()
    const { one, told } = world
    await one.host.limits.set({ ...limit, cap: 2, mode: 'observe' })
    const [ada, bob] = [await one.user(), await one.user()]

    await askOften(world, ada.token, 3)
    await askOften(world, bob.token, 2)
    await vi.waitFor(() => expect(told).toHaveLength(2), SLOW)
    await one.rows(
      `update usage_counters set starts_at = starts_at - interval '1 month', ends_at = now() - interval '1 second'`,
    )
    await askOften(world, ada.token, 2)
    await vi.waitFor(() => expect(told).toHaveLength(3), SLOW)

    expect(told.map(({ subjectId, percent, mode }) => [Number(subjectId), percent, mode]).toSorted()).toEqual([
      [ada.id, 100, 'observe'],
      [ada.id, 100, 'observe'],
      [bob.id, 100, 'observe'],
    ])
    await one.rows('delete from usage_counters')
    expect(await one.rows('select percent from usage_notices')).toEqual([])
  })
})
