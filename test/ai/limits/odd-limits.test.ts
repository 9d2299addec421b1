import { expect, test } from 'vitest'
import { sendQuestion, shareLimitedService, limited as startLimited } from '../../kit/ai/limited-service.ts'

const limited = shareLimitedService()

async function startWorld() {
  const world = await limited([])
  const { id, token } = await world.svc.user()
  const sendCounted = async () => {
    const answer = await sendQuestion(world.svc, token)
    await world.svc.services.ai.usageLedger.flush()
    return answer
  }
  return Object.assign(world, { id: `${id}`, sendQuestion: sendCounted })
}

const limit = { name: 'each', for: 'user', cap: 2, unit: 'requests', per: 'day' }

test("a limit's name may have letters of two code units each", async () => {
  await using world = await startWorld()
  await world.svc.host.limits.set({ ...limit, name: '𠮷' } as never)

  const { status, headers } = await world.sendQuestion()

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
  await world.sendQuestion()

  await limits.set({ ...limit, per: 'hour', timeZone } as never)

  expect(await limits.list()).toMatchObject([{ cap: 2, used: 1 }])
  await limits.topUp({ name: 'each', amount: 1, id: world.id })
  expect(await limits.list()).toMatchObject([{ cap: 3, used: 1 }])
  await world.sendQuestion()
  expect(await limits.list()).toMatchObject([{ cap: 3, used: 2 }])
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

test('limits for a role, a room and a token that exist are accepted', async () => {
  await using world = await limited([])
  const { svc } = world
  const [room] = await svc.rows<{ id: number }>(`insert into rooms (name, slug) values ('R', 'r-1') returning id`)
  await svc.user()
  const [token] = await svc.rows<{ id: number }>('select id from access_tokens limit 1')
  const targets = ['role:user', 'role:admin', `room:${room?.id}`, `token:${token?.id}`, 'role', 'room', 'token']

  for (const target of targets)
    await svc.host.limits.set({ ...limit, name: target.replace(':', ' '), for: target } as never)

  expect(await svc.rows('select subject, subject_id from usage_limits order by id')).toEqual(
    targets.map((target) => {
      const [subject, subject_id = null] = target.split(':')
      return { subject, subject_id }
    }),
  )
})

test.for([
  ['provider:lokal', "There is no provider named 'lokal'. Did you mean 'local'?"],
  ['model:mock-7', "There is no model named 'mock-7'. Did you mean 'mock-1'?"],
  ['app:Nobody', "There is no app with the name 'Nobody'."],
  ['room:2147483647', "There is no room with the id '2147483647'."],
  ['token:2147483647', "There is no token with the id '2147483647'."],
])('a limit for the missing %s is refused with near names, confirmed or not', async ([target = '', detail]) => {
  await using world = await limited([])
  const { svc } = world

  for (const confirm of [false, true])
    await expect(svc.host.limits.set({ ...limit, for: target, confirm } as never)).rejects.toMatchObject({
      problem: 'not_found',
      message: detail,
    })

  expect(await svc.rows('select name from usage_limits')).toEqual([])
})

test('a limit for a missing person or group is set once confirmed', async () => {
  await using world = await limited([])
  const { svc } = world
  const { id, username } = await svc.user()
  await svc.host.admin.setGroups({ user: { id }, groups: ['chemistry'] })
  const set = (target: string, more: object) => svc.host.limits.set({ ...limit, for: target, ...more } as never)

  await expect(set('group:chemistri', {})).rejects.toMatchObject({
    problem: 'confirmation_needed',
    message: "There is no group named 'chemistri'. Did you mean 'chemistry'?",
  })
  await expect(set(`user:${username.slice(0, -1)}`, {})).rejects.toMatchObject({
    problem: 'confirmation_needed',
    message: expect.stringContaining(' Did you mean '),
  })
  await set('group:chemistri', { name: 'group', confirm: true })
  await set('user:not.here.yet', { name: 'person', confirm: true })

  expect(await svc.rows('select name, subject_id as who from usage_limits order by id')).toEqual([
    { name: 'group', who: 'chemistri' },
    { name: 'person', who: 'name:not.here.yet' },
  ])
})

test.for([
  ['installation', 2, 1],
  ['provider', 2, 1],
  ['model:mock-1', 2, 1],
  ['role', 2, 1],
  ['group', 1, 1],
  ['user', 2, 2],
  ['token', 2, 2],
] as const)('a new limit for %s counts what is recorded of the running month', async ([target, used, subjects]) => {
  await using world = await startWorld()
  const { svc } = world
  const other = await svc.user()
  await svc.host.admin.setGroups({ user: { id: other.id }, groups: ['chemistry'] })
  await world.sendQuestion()
  await sendQuestion(svc, other.token)
  await svc.services.ai.usageLedger.flush()
  await svc.rows(`insert into usage_records (created_at, user_id, context, provider, model, outcome, duration_ms, request_id)
    select now() - interval '32 days', user_id, context, provider, model, outcome, duration_ms, 'old' from usage_records`)

  const set = await svc.host.limits.set({ ...limit, for: target, per: 'month' } as never)

  expect(set).toEqual({ name: 'each', begun: { countFrom: 'period', subjects, used } })
  const states = await svc.host.limits.list()
  expect(states.reduce((sum, state) => sum + state.used, 0)).toBe(used)
  expect((await sendQuestion(svc, other.token)).status).toBe(subjects === 1 && used === 2 ? 429 : 200)
})

test("a limit counts the month's tokens and money, and unknown prices by its rule", async () => {
  const pricing = { currency: 'EUR', inputPerMillion: 1_000_000, outputPerMillion: 1_000_000 }
  await using world = await limited([], { model: { pricing } })
  const { svc } = world
  const { token } = await svc.user()
  await sendQuestion(svc, token)
  await svc.services.ai.usageLedger.flush()
  await svc.rows(`insert into usage_records (created_at, context, provider, model, outcome, input_tokens, duration_ms, request_id)
    values (now(), 'api', 'local', 'mock-1', 'completed', 7, 0, 'unpriced')`)
  const all = { ...limit, for: 'installation', per: 'month' }

  await svc.host.limits.set({ ...all, name: 'tokens', unit: 'tokens' } as never)
  await svc.host.limits.set({ ...all, name: 'money', unit: 'EUR', unpriced: 0.5 } as never)

  expect(await svc.host.limits.list()).toMatchObject([
    { name: 'money', used: 10_500_000 },
    { name: 'tokens', used: 17 },
  ])
})

test('a limit that counts from now begins at 0, says so, and stays so', async () => {
  await using world = await startWorld()
  const { limits } = world.svc.host
  await world.sendQuestion()

  const set = await limits.set({ ...limit, per: 'month', countFrom: 'now' } as never)

  expect(set).toEqual({ name: 'each', begun: { countFrom: 'now', subjects: 0, used: 0 } })
  expect(await limits.list()).toMatchObject([{ used: 0, countsFrom: expect.stringMatching(/^20/) }])
  await world.sendQuestion()
  expect(await limits.set({ ...limit, per: 'month', cap: 5 } as never)).toEqual({ name: 'each', begun: null })
  expect(await limits.list()).toMatchObject([{ used: 1, cap: 5, countsFrom: expect.stringMatching(/^20/) }])
})

test('a top-up is available at once, and reported to calls', async () => {
  await using world = await startWorld()
  const { limits } = world.svc.host
  await limits.set(limit as never)
  const readRemaining = async () => /r=(\d+)/.exec((await world.sendQuestion()).headers.get('ratelimit') ?? '')?.[1]

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
  await world.sendQuestion()
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

test('limits count on when a later version has dropped its columns', async () => {
  await using world = await startLimited([])
  const { svc } = world
  const { id, token } = await svc.user()
  await svc.host.limits.set(limit as never)
  await sendQuestion(svc, token)
  await svc.services.ai.usageLedger.flush()
  await svc.rows(`alter table usage_counters drop column stripe, drop column share, drop column cap,
    add unique (limit_id, subject_id, starts_at)`)
  await svc.rows('alter table usage_limits drop column stripes')

  const opened = await svc.host.limits.set({ ...limit, name: 'new', per: 'month', cap: 9 } as never)
  const answer = await sendQuestion(svc, token)
  await svc.host.limits.topUp({ name: 'each', amount: 1, id: `${id}` })
  await svc.services.ai.usageLedger.flush()

  expect([opened.begun, answer.status]).toEqual([{ countFrom: 'period', subjects: 1, used: 1 }, 200])
  expect(await svc.host.limits.list()).toMatchObject([
    { name: 'each', used: 2, cap: 3 },
    { name: 'new', used: 2, cap: 9 },
  ])
})
