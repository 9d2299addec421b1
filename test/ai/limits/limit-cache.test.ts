import { expect, test } from 'vitest'
import type { ActiveLimit } from '../../../entities/ai/usage-limit.sql.ts'
import { LimitCache } from '../../../server/stores/usage/limit-cache.ts'

const limit: ActiveLimit = {
  id: 1,
  name: 'few calls',
  subject: 'installation',
  subjectId: null,
  unit: 'calls',
  currency: null,
  cap: 1,
  unpricedCost: null,
  mode: 'enforce',
  period: 'day',
  timeZone: 'UTC',
}
const call = { subjects: [['installation', ''] as const], cost: null }

test('a limit set while limits are read holds for the next tool call', async () => {
  const gates: PromiseWithResolvers<void>[] = []
  let current = { version: 5, limits: [] as ActiveLimit[] }
  const cache = new LimitCache((async () => {
    const read = current
    const gate = Promise.withResolvers<void>()
    gates.push(gate)
    await gate.promise
    return [read]
  }) as never)
  const openAll = async () => {
    for (const gate of gates.splice(0)) gate.resolve()
    await new Promise(setImmediate)
  }
  const earlier = cache.isToolLimited(call)
  current = { version: 6, limits: [limit] }
  cache.noteVersion(6)

  const later = cache.isToolLimited(call)
  for (let round = 0; round < 3; round++) await openAll()

  expect(await Promise.all([earlier, later])).toEqual([true, true])
  expect(cache.version).toBe(6)
})
