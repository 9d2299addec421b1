import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, test, vi } from 'vitest'
import {
  type CapChange,
  type Operation,
  problemsIn,
  type RecordedCall,
  type Sample,
} from '../../kit/ai/limit-history.ts'
import { askOnce, type Replicas, sampleOf, startReplicas } from '../../kit/ai/limit-replicas.ts'

vi.setConfig({ testTimeout: 15 * 60_000 })

const SLOW = { timeout: 60_000, interval: 200 }
const limit = { name: 'budget', for: 'installation', cap: 100, unit: 'requests', per: 'month' } as const

/** Several calls at once, by all replicas in turn. */
const askTogether = ({ replicas }: Replicas, tokens: readonly string[], count: number) =>
  Promise.all(
    Array.from({ length: count }, (_, index) =>
      askOnce(replicas[index % replicas.length]?.url ?? '', tokens[index % tokens.length] ?? ''),
    ),
  )

const recordsOf = ({ svc }: Replicas) =>
  svc.rows<RecordedCall & { cost: number; tokens: number }>(
    `select request_id as "requestId", outcome, cost_micros::int as cost, input_tokens + output_tokens as tokens
       from usage_records`,
  )

/** As if the lease of all calls had ended that no process makes any more. */
async function settleLost({ svc }: Replicas): Promise<void> {
  await svc.services.usageLedger.flush()
  await svc.rows(`update usage_holds set lease_until = now() - interval '1 s'`)
  await vi.waitFor(async () => expect(await svc.rows('select id from usage_holds')).toEqual([]), SLOW)
}

/** Looks at the limit again and again until it is told to stop; while the database is away it sees nothing. */
function watch(world: Replicas): () => Promise<Sample[]> {
  const samples: Sample[] = []
  let isOver = false
  const watching = (async () => {
    while (!isOver) {
      const sample = await sampleOf(world, limit.name).catch(() => undefined)
      if (sample) samples.push(sample)
      await pause(25)
    }
  })()
  return async () => {
    isOver = true
    await watching
    return samples
  }
}

/** What goes wrong while calls are under way, and how it is set right. */
const faults: ((world: Replicas, victim: number) => Promise<(() => Promise<void>) | undefined>)[] = [
  async (world, victim) => {
    await world.kill(victim)
    return () => world.restart(victim)
  },
  async (world) => {
    await world.crashDatabase()
    return undefined
  },
  async (world) => {
    await world.loseRedis()
    return undefined
  },
]

describe('a budget for 100 answers', () => {
  test('a budget for 100 answers lets exactly 100 of 200 calls through that come at once to three replicas', async () => {
    await using world = await startReplicas(3)
    await world.svc.host.limits.set(limit)
    const { token } = await world.svc.user()
    const stop = watch(world)

    const operations = await askTogether(world, [token], 200)

    await vi.waitFor(async () => expect(await world.svc.rows('select id from usage_holds')).toEqual([]), SLOW)
    const records = await recordsOf(world)
    expect(operations.filter(({ outcome }) => outcome === 'answered')).toHaveLength(100)
    expect(operations.filter(({ outcome }) => outcome === 'refused')).toHaveLength(100)
    expect(world.provider.asked).toHaveLength(100)
    expect(problemsIn({ operations, samples: await stop(), records, caps: [{ at: 0, cap: 100 }] })).toEqual([])
  })

  test('a budget for 100 answers holds at every moment while replicas are killed and PostgreSQL and Redis stop', async () => {
    await using world = await startReplicas(3)
    await world.svc.host.limits.set({ ...limit, cap: 40 })
    const { token } = await world.svc.user()
    const operations: Operation[] = []
    const caps: CapChange[] = [{ at: 0, cap: 40 }]
    const stop = watch(world)

    for (let round = 0; round < 20; round++) {
      const asking = askTogether(world, [token], 50)
      await pause(Math.random() * 300)
      const mend = await faults[round % faults.length]?.(world, round % 3)
      operations.push(...(await asking))
      await mend?.()
      await vi.waitFor(() => world.svc.host.limits.topUp({ name: limit.name, amount: 30 }), SLOW)
      caps.push({ at: performance.now(), cap: 40 + 30 * caps.length })
    }
    operations.push(...(await askTogether(world, [token], 50)))
    await pause(6000)
    await settleLost(world)

    const records = await recordsOf(world)
    const last = await sampleOf(world, limit.name)
    expect(problemsIn({ operations, samples: await stop(), records, caps })).toEqual([])
    expect(last).toMatchObject({ used: records.length, held: 0 })
    // What the provider says it took, 7 and 3 tokens an answer, is what the records of answers say.
    for (const { tokens } of records.filter(({ outcome }) => outcome === 'completed')) expect(tokens).toBe(10)
    expect(records.length).toBeGreaterThanOrEqual(world.provider.asked.length)
  })
})

test('a lecture of 200 people on two replicas, of which one is killed, leaves 100 paid answers and every cent of them', async () => {
  await using world = await startReplicas(2)
  await world.svc.host.limits.set({ ...limit, for: 'group:lecture' })
  const people = await Promise.all(Array.from({ length: 200 }, () => world.svc.user({ keys: false })))
  for (const { id } of people) await world.svc.host.admin.setGroups({ user: { id }, groups: ['lecture'] })
  const attend = async (token: string, index: number): Promise<Operation[]> => {
    const first = await askOnce(world.replicas[index % 2]?.url ?? '', token)
    return first.outcome === 'unknown' ? [first, await askOnce(world.replicas[1]?.url ?? '', token)] : [first]
  }

  const lecture = Promise.all(people.map(({ token }, index) => attend(token, index)))
  await vi.waitUntil(() => world.provider.asked.length >= 40, { timeout: 60_000, interval: 1 })
  await world.kill(0)
  const operations = (await lecture).flat()
  // The calls of the replica that lives have ended, and what is still held was held by the other one.
  await pause(2000)
  await settleLost(world)

  const records = await recordsOf(world)
  const byOutcome = Object.groupBy(records, ({ outcome }) => outcome)
  expect(problemsIn({ operations, samples: [], records, caps: [{ at: 0, cap: 100 }] })).toEqual([])
  expect(records).toHaveLength(100)
  expect(await sampleOf(world, limit.name)).toMatchObject({ used: 100, held: 0 })
  const report = await world.svc.host.usage.report({})
  expect(report.reduce((sum, { requests }) => sum + requests, 0)).toBe(100)
  const cents = records.reduce((sum, { cost }) => sum + cost, 0)
  expect(report.reduce((sum, { costMicros }) => sum + (costMicros ?? 0), 0)).toBe(cents)
  // An answer took 7 tokens in and 3 out; what the killed replica held counts at what it had sent.
  for (const { cost } of byOutcome['completed'] ?? []) expect(cost).toBe(7 * 1000 + 3 * 2000)
  for (const { cost } of byOutcome['lost'] ?? []) expect(cost).toBe(2 * 1000)
})

test('a history is found out in which more was held than the cap, a call was refused with room, or an answer has no record', () => {
  const call = { startedAt: 1, endedAt: 2, outcome: 'answered', requestId: 'a' } as const
  const records = [{ requestId: 'a', outcome: 'completed' }]
  const sound = { operations: [call], samples: [], records, caps: [{ at: 0, cap: 1 }] }
  const sample = { used: 1, held: 0, shares: 1, cap: 1, overdrawn: 0, outlived: 0 }

  expect(problemsIn({ ...sound, samples: [sample] })).toEqual([])
  expect(problemsIn({ ...sound, samples: [{ ...sample, held: 1 }] })).toEqual(['1 used and 1 held, of 1'])
  expect(problemsIn({ ...sound, records: [] })).toEqual(['the answered call a has the records []'])
  expect(problemsIn({ ...sound, records: [...records, { requestId: 'b', outcome: 'lost' }] })).toHaveLength(1)
  expect(problemsIn({ ...sound, operations: [call, call] })).toEqual(['2 calls were answered, of 1'])
  const refused = { ...call, outcome: 'refused', requestId: 'r' } as const
  expect(problemsIn({ ...sound, operations: [call, refused], caps: [{ at: 0, cap: 2 }] })).toHaveLength(1)
})
