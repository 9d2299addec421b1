import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, test, vi } from 'vitest'
import {
  type CapChange,
  findViolations,
  type Operation,
  type RecordedCall,
  type Sample,
} from '../../kit/ai/limit-history.ts'
import { type Replicas, readSample, recordQuestion, startLasting, startReplicas } from '../../kit/ai/limit-replicas.ts'

vi.setConfig({ testTimeout: 15 * 60_000 })

const SLOW = { timeout: 60_000, interval: 200 }
const limit = { name: 'budget', for: 'installation', cap: 100, unit: 'requests', per: 'month' } as const

/** By unit: the amount that a call reserves (`most`) and a usual answer uses (`least`); `one` is 1 of a cap. */
const units = [
  { unit: 'requests', one: 1, most: 1, least: 1, rounds: 6 },
  { unit: 'tokens', one: 1, most: 2 + 100, least: 10, rounds: 3 },
  { unit: 'EUR', one: 1_000_000, most: 2 * 1000 + 100 * 2000, least: 7 * 1000 + 3 * 2000, rounds: 3 },
] as const

type RecordedSums = RecordedCall & { cost: number; tokens: number }

/** Sums the usage of calls in the unit of a limit. */
const sumUsage = (unit: (typeof units)[number]['unit'], records: readonly RecordedSums[]) =>
  records.reduce((sum, { cost, tokens }) => sum + { requests: 1, tokens, EUR: cost }[unit], 0)

/** Makes concurrent calls at all replicas in turn. */
const sendTogether = (replicas: readonly { url: string }[], tokens: readonly string[], count: number) =>
  Promise.all(
    Array.from({ length: count }, (_, index) =>
      recordQuestion(replicas[index % replicas.length]?.url ?? '', tokens[index % tokens.length] ?? ''),
    ),
  )

const readRecords = ({ svc }: Pick<Replicas, 'svc'>) =>
  svc.rows<RecordedSums>(
    `select request_id as "requestId", outcome, cost_micros::int as cost, input_tokens + output_tokens as tokens
       from usage_records`,
  )

/** Ends the leases of all remaining reservations, and waits until they are settled. */
async function settleLost({ svc }: Replicas): Promise<void> {
  await svc.services.ai.usageLedger.flush()
  await svc.rows(`update usage_holds set lease_until = now() - interval '1 s'`)
  await vi.waitFor(async () => expect(await svc.rows('select id from usage_holds')).toEqual([]), SLOW)
}

/** Samples the limit until it is stopped; there are no samples while the database is down. */
function watch(world: Pick<Replicas, 'svc'>): () => Promise<Sample[]> {
  const samples: Sample[] = []
  let isOver = false
  const watching = (async () => {
    while (!isOver) {
      const sample = await readSample(world, limit.name).catch(() => undefined)
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

/** Faults during calls; each returns a function that repairs it. */
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
  test('a budget for 100 answers admits exactly 100 of 200 concurrent calls', async () => {
    await using world = await startLasting(3)
    await world.svc.host.limits.set(limit)
    const { token } = await world.svc.user()
    const stop = watch(world)

    const operations = await sendTogether(world.replicas, [token], 200)

    await vi.waitFor(async () => expect(await world.svc.rows('select id from usage_holds')).toEqual([]), SLOW)
    const records = await readRecords(world)
    expect(operations.filter(({ outcome }) => outcome === 'answered')).toHaveLength(100)
    expect(operations.filter(({ outcome }) => outcome === 'refused')).toHaveLength(100)
    expect(world.provider.requests).toHaveLength(100)
    expect(findViolations({ operations, samples: await stop(), records, caps: [{ at: 0, cap: 100 }] })).toEqual([])
  })

  test.for(units)(
    'a budget of $unit always holds while replicas, PostgreSQL and Redis fail',
    async ({ unit, one, most, least, rounds }) => {
      await using world = await startReplicas(3)
      await world.svc.host.limits.set({ ...limit, unit, cap: (40 * most) / one })
      const { token } = await world.svc.user()
      const operations: Operation[] = []
      const caps: CapChange[] = [{ at: 0, cap: 40 * most }]
      const stop = watch(world)

      for (let round = 0; round < rounds; round++) {
        const pendingCall = sendTogether(world.replicas, [token], 50)
        await pause(Math.random() * 300)
        const mend = await faults[round % faults.length]?.(world, round % 3)
        operations.push(...(await pendingCall))
        await mend?.()
        const more = unit === 'requests' ? 30 : 4
        await vi.waitFor(() => world.svc.host.limits.topUp({ name: limit.name, amount: (more * most) / one }), SLOW)
        caps.push({ at: performance.now(), cap: (caps.at(-1)?.cap ?? 0) + more * most })
      }
      operations.push(...(await sendTogether(world.replicas, [token], 50)))
      await pause(6000)
      await settleLost(world)

      const records = await readRecords(world)
      const last = await readSample(world, limit.name)
      expect(findViolations({ operations, samples: await stop(), records, caps, most, least })).toEqual([])
      expect(last).toMatchObject({ used: sumUsage(unit, records), held: 0 })
      // The records have the provider's counts, which are 7 and 3 tokens for each answer.
      for (const { tokens } of records.filter(({ outcome }) => outcome === 'completed')) expect(tokens).toBe(10)
      expect(records.length).toBeGreaterThanOrEqual(world.provider.requests.length)
    },
  )

  test.for(units)('a budget of $unit is used by exactly what the provider counted', async ({ unit, one, most }) => {
    const counted = { requests: 0, tokens: 0, EUR: 0 }
    await using world = await startLasting(3, () => {
      const [prompt_tokens, completion_tokens] = [1 + (counted.requests % 13), 1 + (counted.requests % 17)]
      counted.requests += 1
      counted.tokens += prompt_tokens + completion_tokens
      counted.EUR += prompt_tokens * 1000 + completion_tokens * 2000
      return { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens }
    })
    await world.svc.host.limits.set({ ...limit, unit, cap: (40 * most) / one })
    const { token } = await world.svc.user()
    const caps = [{ at: 0, cap: 40 * most }]
    const stop = watch(world)
    const operations: Operation[] = []

    for (let round = 0; round < 6; round++) operations.push(...(await sendTogether(world.replicas, [token], 60)))

    await vi.waitFor(async () => expect(await world.svc.rows('select id from usage_holds')).toEqual([]), SLOW)
    const records = await readRecords(world)
    const answered = operations.filter(({ outcome }) => outcome === 'answered')
    expect(findViolations({ operations, samples: await stop(), records, caps, most })).toEqual([])
    expect([answered.length, world.provider.requests.length]).toEqual([counted.requests, counted.requests])
    const sums = units.map(({ unit: each }) => [each, sumUsage(each, records)])
    expect(Object.fromEntries(sums)).toEqual(counted)
    expect(await readSample(world, limit.name)).toMatchObject({ used: counted[unit], held: 0 })
  })
})

test('a lecture of 200 people with one killed replica leaves 100 paid answers', async () => {
  await using world = await startReplicas(2)
  await world.svc.host.limits.set({ ...limit, for: 'group:lecture', confirm: true })
  const people = await Promise.all(Array.from({ length: 200 }, () => world.svc.user({ keys: false })))
  for (const { id } of people) await world.svc.host.admin.setGroups({ user: { id }, groups: ['lecture'] })
  const attend = async (token: string, index: number): Promise<Operation[]> => {
    const first = await recordQuestion(world.replicas[index % 2]?.url ?? '', token)
    return first.outcome === 'unknown' ? [first, await recordQuestion(world.replicas[1]?.url ?? '', token)] : [first]
  }

  const lecture = Promise.all(people.map(({ token }, index) => attend(token, index)))
  await vi.waitUntil(() => world.provider.requests.length >= 40, { timeout: 60_000, interval: 1 })
  await world.kill(0)
  const operations = (await lecture).flat()
  // The live replica's calls have ended, so the remaining reservations are the killed replica's.
  await pause(2000)
  await settleLost(world)

  const records = await readRecords(world)
  const byOutcome = Object.groupBy(records, ({ outcome }) => outcome)
  expect(findViolations({ operations, samples: [], records, caps: [{ at: 0, cap: 100 }] })).toEqual([])
  expect(records).toHaveLength(100)
  expect(await readSample(world, limit.name)).toMatchObject({ used: 100, held: 0 })
  const report = await world.svc.host.usage.report({})
  expect(report.reduce((sum, { requests }) => sum + requests, 0)).toBe(100)
  const cents = records.reduce((sum, { cost }) => sum + cost, 0)
  expect(report.reduce((sum, { costMicros }) => sum + (costMicros ?? 0), 0)).toBe(cents)
  // An answer has 7 tokens of input and 3 of output; the killed replica's calls count what they had delivered.
  for (const { cost } of byOutcome['completed'] ?? []) expect(cost).toBe(7 * 1000 + 3 * 2000)
  for (const { cost } of byOutcome['lost'] ?? []) expect(cost).toBe(2 * 1000)
})

test('a history with overbooking, needless refusals or missing records is found out', () => {
  const call = { startedAt: 1, endedAt: 2, outcome: 'answered', requestId: 'a' } as const
  const records = [{ requestId: 'a', outcome: 'completed' }]
  const sound = { operations: [call], samples: [], records, caps: [{ at: 0, cap: 1 }] }
  const sample = { used: 1, held: 0, cap: 1, outlived: 0 }

  expect(findViolations({ ...sound, samples: [sample] })).toEqual([])
  expect(findViolations({ ...sound, samples: [{ ...sample, held: 1 }] })).toEqual(['1 used and 1 held, of 1'])
  expect(findViolations({ ...sound, records: [] })).toEqual(['the answered call a has the records []'])
  expect(findViolations({ ...sound, records: [...records, { requestId: 'b', outcome: 'lost' }] })).toHaveLength(1)
  expect(findViolations({ ...sound, operations: [call, call] })).toEqual(['2 calls were answered, of 1'])
  const refused = { ...call, outcome: 'refused', requestId: 'r' } as const
  expect(findViolations({ ...sound, operations: [call, refused], caps: [{ at: 0, cap: 2 }] })).toHaveLength(1)
})
