import { describe, expect, test } from 'vitest'
import { shareLimitedService } from '../../kit/ai/limited-service.ts'
import { buildQuestion } from '../../kit/ai/provider.ts'
import { watchStatements } from '../../kit/statements.ts'

const statements = watchStatements()

const limit = { name: 'all', for: 'installation', cap: 10, unit: 'requests', per: 'day', mode: 'observe' }

const limited = shareLimitedService()

async function withLimit(more: object = {}) {
  const world = await limited([{ ...limit, ...more }])
  const { svc } = world
  const { token } = await svc.user()
  const sendQuestion = async () => (await svc.send('POST', '/api/ai-req', { token, body: buildQuestion() })).status
  return {
    svc,
    set: (values: object) => svc.host.limits.set({ ...limit, ...values } as never),
    /** Makes concurrent calls; returns the number of those that are answered. */
    async countAnswered(count: number) {
      const statuses = await Promise.all(Array.from({ length: count }, sendQuestion))
      await svc.services.ai.usageLedger.flush()
      return statuses.filter((status) => status === 200).length
    },
    async state() {
      const [found] = await svc.host.limits.list()
      return { used: found?.used, held: found?.held, refused: found?.refused }
    },
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  }
}

describe('a limit that only observes', () => {
  test('a limit that only observes counts all refusals of concurrent calls in batches', async () => {
    await using world = await withLimit()
    await world.countAnswered(1)
    statements.take()

    expect(await world.countAnswered(29)).toBe(29)

    expect(await world.state()).toEqual({ used: 30, held: 0, refused: 20 })
    expect(await world.countAnswered(5)).toBe(5)
    expect(await world.state()).toEqual({ used: 35, held: 0, refused: 25 })
    const names = statements.take().map(({ name }) => name)
    expect(names.filter((name) => name === 'reserve-usage').length).toBeLessThan(29)
  })

  test('a limit that observed before being enforced admits exactly what is left', async () => {
    await using world = await withLimit()
    await world.countAnswered(13)

    await world.set({ mode: 'enforce', cap: 12 })
    const none = await world.countAnswered(20)
    await world.set({ mode: 'enforce', cap: 17 })

    expect([none, await world.countAnswered(20)]).toEqual([0, 4])
    expect(await world.state()).toMatchObject({ used: 17, held: 0 })
  })

  test('a limit in money that only observes counts unpriced calls as refused', async () => {
    await using world = await withLimit({ unit: 'EUR' })

    expect(await world.countAnswered(4)).toBe(4)

    expect(await world.state()).toEqual({ used: 0, held: 0, refused: 4 })
  })
})

describe('what is left of a limit', () => {
  test("what is left of a limit is reported by each call's own reservation", async () => {
    await using world = await withLimit({ mode: 'enforce', cap: 100 })
    const { token } = await world.svc.user()
    const readRemaining = async () => {
      const { headers } = await world.svc.send('POST', '/api/ai-req', { token, body: buildQuestion() })
      return headers.get('ratelimit')?.match(/^"all";r=(\d+);t=\d+$/)?.[1]
    }
    await readRemaining()
    statements.take()

    expect([await readRemaining(), await readRemaining(), await readRemaining()]).toEqual(['98', '97', '96'])

    const names = statements.take().flatMap(({ name = '', text }) => (text.includes('usage_counters') ? [name] : []))
    expect(names.filter((name) => name !== 'commit-usage')).toEqual(Array(3).fill('reserve-usage'))
  })

  test('what is left of a limit fits a structured field, however large', async () => {
    await using world = await withLimit({ mode: 'enforce', unit: 'EUR', cap: 9e9, unpriced: 1 })
    const { token } = await world.svc.user()

    const { headers } = await world.svc.send('POST', '/api/ai-req', { token, body: buildQuestion() })

    expect(headers.get('ratelimit-policy')).toBe('"all";q=999999999999999;w=86400;qu="EUR-millionths"')
    expect(headers.get('ratelimit')).toMatch(/^"all";r=999999999999999;t=\d+$/)
  })
})
