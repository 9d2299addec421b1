import { randomBytes } from 'node:crypto'
import { afterEach, describe, expect, test, vi } from 'vitest'
import type { ReachedLimit } from '../../../entities/ai/usage-commit.sql.ts'
import { buildQuestion, startProvider, writeConfig } from '../../kit/ai/provider.ts'
import { startApp, type TestApp } from '../../kit/app.ts'
import { newName } from '../../kit/identity/people.ts'
import { SLOW } from '../../kit/service-client.ts'
import { shareResource } from '../../kit/share-resource.ts'

const limit = { name: 'each', for: 'user', cap: 10, unit: 'requests', per: 'month' } as const

/** Starts two replicas and collects the events and log lines about limits. */
async function startTwo() {
  await using resources = new AsyncDisposableStack()
  const upstream = resources.use(await startProvider())
  const config = resources.use(await writeConfig(upstream.url))
  const settings = { AI_CONFIG: config.file, APP_KEY: randomBytes(32).toString('base64') }
  const one = resources.use(await startApp(settings))
  const two = resources.use(await startApp({ ...settings, DATABASE_URL: one.env.DATABASE_URL ?? '' }))
  const events: ReachedLimit[] = []
  for (const { services } of [one, two])
    services.process.hooks.on('usage-limit-reached', (reached) => void events.push(reached))
  const disposables = resources.move()
  const eventsOf = ({ id }: { id: number }) => events.filter(({ subjectId }) => subjectId === `${id}`)
  const linesOf = ({ id }: { id: number }) =>
    [...one.log, ...two.log]
      .filter((line) => line.includes('a usage limit is used up to'))
      .map((line) => JSON.parse(line) as ReachedLimit)
      .filter(({ subjectId }) => subjectId === `${id}`)
  return { one, two, eventsOf, linesOf, [Symbol.asyncDispose]: () => disposables.disposeAsync() }
}

type World = Awaited<ReturnType<typeof startTwo>>
const world = shareResource(startTwo)
afterEach(async () => {
  for (const { name } of await world.one.rows<{ name: string }>('select name from usage_limits'))
    await world.one.host.limits.remove({ name })
})

const sendQuestion = (svc: TestApp, token: string) => svc.send('POST', '/api/ai-req', { token, body: buildQuestion() })

/** Makes the calls concurrently, half of them at each replica. */
const sendOften = ({ one, two }: { one: TestApp; two: TestApp }, token: string, often: number) =>
  Promise.all(Array.from({ length: often }, (_, index) => sendQuestion(index % 2 ? one : two, token)))

/** Waits until both replicas have reported earlier calls, which come before the one that this makes. */
async function lookAt({ one, two, eventsOf }: World): Promise<void> {
  for (const svc of [one, two]) {
    const probe = await one.user()
    await one.host.limits.set({ ...limit, name: newName('probe'), for: `user:${probe.username}`, cap: 1 })
    await svc.services.ai.usageLedger.flush()
    expect((await sendQuestion(svc, probe.token)).status).toBe(200)
    await vi.waitFor(() => expect(eventsOf(probe)).not.toEqual([]), SLOW)
  }
}

describe('when a limit is nearly or wholly used up', () => {
  test('log and listeners report each used-up part once across all replicas', async () => {
    const { one, eventsOf, linesOf } = world
    await one.host.limits.set(limit)
    const ada = await one.user()
    await sendOften(world, ada.token, 7)
    await lookAt(world)
    expect(eventsOf(ada)).toEqual([])

    await sendOften(world, ada.token, 1)
    await vi.waitFor(() => expect(eventsOf(ada)).toHaveLength(1), SLOW)
    await sendOften(world, ada.token, 4)
    await vi.waitFor(() => expect(eventsOf(ada)).toHaveLength(2), SLOW)
    await sendOften(world, ada.token, 4)
    await lookAt(world)

    const each = { limit: 'each', subject: 'user', subjectId: `${ada.id}`, unit: 'requests', mode: 'enforce', cap: 10 }
    expect(eventsOf(ada)).toEqual([
      { ...each, currency: null, period: 'month', percent: 80, used: 8, resetsAt: expect.stringMatching(/-01T00:00/) },
      { ...each, currency: null, period: 'month', percent: 100, used: 10, resetsAt: expect.any(String) },
    ])
    expect(linesOf(ada).toSorted((a, b) => a.percent - b.percent)).toMatchObject([
      { level: 30, ...each, percent: 80, msg: 'a usage limit is used up to 80 percent' },
      { level: 30, ...each, percent: 100, msg: 'a usage limit is used up to 100 percent' },
    ])
  })

  test('log and listeners report a limit of each user by person and period', async () => {
    const { one, eventsOf } = world
    await one.host.limits.set({ ...limit, cap: 2, mode: 'observe' })
    const [ada, bob] = [await one.user(), await one.user()]

    await sendOften(world, ada.token, 3)
    await sendOften(world, bob.token, 2)
    const readEvents = () => [...eventsOf(ada), ...eventsOf(bob)]
    await vi.waitFor(() => expect(readEvents()).toHaveLength(2), SLOW)
    await one.rows(
      `update usage_counters set starts_at = starts_at - interval '1 month', ends_at = now() - interval '1 second'`,
    )
    await sendOften(world, ada.token, 2)
    await vi.waitFor(() => expect(readEvents()).toHaveLength(3), SLOW)

    expect(
      readEvents()
        .map(({ subjectId, percent, mode }) => [Number(subjectId), percent, mode])
        .toSorted(),
    ).toEqual([
      [ada.id, 100, 'observe'],
      [ada.id, 100, 'observe'],
      [bob.id, 100, 'observe'],
    ])
  })
})
