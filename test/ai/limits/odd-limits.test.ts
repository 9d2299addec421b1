import { expect, test } from 'vitest'
import { ask, shareLimitedService } from '../../kit/ai/limited-service.ts'

const limited = shareLimitedService()

async function startWorld() {
  const world = await limited([])
  const { id, token } = await world.svc.user()
  const asks = async () => {
    const answer = await ask(world.svc, token)
    await world.svc.services.usageLedger.flush()
    return answer
  }
  return Object.assign(world, { id: `${id}`, ask: asks })
}

const limit = { name: 'each', for: 'user', cap: 2, unit: 'requests', per: 'day' }

test("a limit's name may have letters of two code units each", async () => {
  await using world = await startWorld()
  await world.svc.host.limits.set({ ...limit, name: '𠮷' } as never)

  const { status, headers } = await world.ask()

  expect([status, headers.get('ratelimit-policy')]).toEqual([200, '"%F0%A0%AE%B7";q=2;w=86400'])
})

/** Finds a zone in which hour and day began at different times and the next hour is not near. */
function zoneAmidAnHour(now = new Date()): string | undefined {
  const clockIn = (timeZone: string) => {
    const clock = new Intl.DateTimeFormat('en-GB', { timeZone, timeStyle: 'short' }).format(now)
    return clock.split(':').map(Number) as [hour: number, minute: number]
  }
  return ['Etc/UTC', 'Asia/Tokyo', 'Asia/Kolkata', 'Australia/Darwin'].find((zone) => {
    const [hour, minute] = clockIn(zone)
    return hour > 0 && minute < 45
  })
}

test('a limit changed from days to hours shows and tops up the hour', async () => {
  await using world = await startWorld()
  const { limits } = world.svc.host
  const timeZone = zoneAmidAnHour()
  await limits.set({ ...limit, timeZone } as never)
  await world.ask()

  await limits.set({ ...limit, per: 'hour', timeZone } as never)

  expect(await limits.list()).toMatchObject([{ cap: 2, used: 0 }])
  await limits.topUp({ name: 'each', amount: 1, id: world.id })
  expect(await limits.list()).toMatchObject([{ cap: 3, used: 0 }])
  await world.ask()
  expect(await limits.list()).toMatchObject([{ cap: 3, used: 1 }])
})

test.for([
  ['role:nosuch', 'must be role:user or role:admin'],
  ['role:USER', 'must be role:user or role:admin'],
  ['token:abc', 'must name the token by its id, as in token:7'],
  ['token:007', 'must name the token by its id, as in token:7'],
  ['room:x', 'must name the room by its id or slug, as in room:7 or room:chess-aBcDe12345'],
  ['room:0', 'must name the room by its id or slug, as in room:7 or room:chess-aBcDe12345'],
  ['room:2147483648', 'must name the room by its id or slug, as in room:7 or room:chess-aBcDe12345'],
  [`room:${'9'.repeat(30)}`, 'must name the room by its id or slug, as in room:7 or room:chess-aBcDe12345'],
])('a limit for %s is refused, as it could never apply', async ([target = '', message]) => {
  await using world = await limited([])
  const { svc } = world
  const { limits } = svc.host

  await expect(limits.set({ ...limit, for: target } as never)).rejects.toThrow(message)

  expect(await svc.rows('select name from usage_limits')).toEqual([])
})

test('limits for a role, a room and a token that may exist are accepted', async () => {
  await using world = await limited([])
  const { svc } = world
  const targets = ['role:user', 'role:admin', 'room:1', 'room:2147483647', 'token:10', 'role', 'room', 'token']

  for (const target of targets)
    await svc.host.limits.set({ ...limit, name: target.replace(':', ' '), for: target } as never)

  expect(await svc.rows('select subject, subject_id from usage_limits order by id')).toEqual(
    targets.map((target) => {
      const [subject, subject_id = null] = target.split(':')
      return { subject, subject_id }
    }),
  )
})

test('a top-up is available at once, and reported to calls', async () => {
  await using world = await startWorld()
  const { limits } = world.svc.host
  await limits.set(limit as never)
  const readRemaining = async () => /r=(\d+)/.exec((await world.ask()).headers.get('ratelimit') ?? '')?.[1]

  expect(await readRemaining()).toBe('1')
  await limits.topUp({ name: 'each', amount: 10, id: world.id })
  expect(await readRemaining()).toBe('10')
})

test.for([
  ['installation', '2', ''],
  ['role:user', 'admin', 'user'],
] as const)('a limit for %s alone is topped up for no other one', async ([target, other, own]) => {
  await using world = await startWorld()
  const { limits } = world.svc.host
  await limits.set({ ...limit, for: target } as never)
  await world.ask()
  const [before] = await limits.list()

  const path = ['id']
  await expect(limits.topUp({ name: 'each', amount: 1, id: other })).rejects.toMatchObject({
    issues: [{ path, message: expect.stringContaining('must be absent') }],
  })
  expect(await limits.list()).toEqual([before])
  expect(await limits.topUp({ name: 'each', amount: 1, id: own })).toMatchObject({ toppedUp: 1 })
})

test('a simulation names limits of missing people and apps, and ignores username case', async () => {
  await using world = await startWorld()
  const { username } = await world.svc.user()
  const targets = [`user:${username.toUpperCase()}`, 'user:nobody.yet', 'app:None yet', 'user', 'app']
  const entries = targets.map((target, at) => ({ ...limit, name: `limit ${at}`, for: target }))

  const { ofNobody } = await world.svc.host.limits.simulate({ config: { limits: entries } } as never)

  expect(ofNobody).toEqual(['limit 1', 'limit 2'])
})
