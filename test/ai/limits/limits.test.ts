// @module-tag debian

import { randomBytes } from 'node:crypto'
import { createTRPCClient, httpLink } from '@trpc/client'
import { describe, expect, test, vi } from 'vitest'
import type { AppRouter } from '../../../routers/index.ts'
import { readLimitState, requestLimit, sendQuestion, shareLimitedService } from '../../kit/ai/limited-service.ts'
import { answers, buildQuestion } from '../../kit/ai/provider.ts'
import { startApp, type TestApp } from '../../kit/app.ts'
import { SLOW } from '../../kit/service-client.ts'

const limited = shareLimitedService()

/** Settings that all replicas of a service share. */
const env = { APP_KEY: randomBytes(32).toString('base64') }

describe('a limit', () => {
  test('a limit of 20 requests admits exactly 20 of 60 concurrent calls', async () => {
    await using world = await limited([requestLimit], { env })
    const { svc, config } = world
    await using other = await startApp({
      AI_CONFIG: config.file,
      DATABASE_URL: svc.env.DATABASE_URL as string,
      APP_KEY: svc.env.APP_KEY as string,
    })
    const { token } = await svc.user()

    const statuses = await Promise.all(
      Array.from({ length: 60 }, async (_, index) => (await sendQuestion(index % 2 ? svc : other, token)).status),
    )

    expect(statuses.filter((status) => status === 200)).toHaveLength(20)
    expect(statuses.filter((status) => status === 429)).toHaveLength(40)
    await other.services.ai.usageLedger.flush()
    expect(await readLimitState(svc, 'all')).toEqual({ cap: 20, used: 20, held: 0, refused: 40 })
    expect(world.provider.requests).toHaveLength(20)
  })

  test('a limit set after earlier calls counts all later calls on all replicas', async () => {
    await using world = await limited([], { env })
    const { svc, config } = world
    const { DATABASE_URL, APP_KEY } = svc.env as Record<'DATABASE_URL' | 'APP_KEY', string>
    await using other = await startApp({ AI_CONFIG: config.file, DATABASE_URL, APP_KEY })
    const { token } = await svc.user()
    const replicas = [svc, other, svc, other]
    // The first call of a process finds that there is no limit; the second one uses the cached result.
    for (const replica of replicas) expect((await sendQuestion(replica, token)).status).toBe(200)
    for (const { services } of [svc, other]) await services.ai.usageLedger.flush()

    await svc.host.limits.set({ ...requestLimit, cap: 6 } as never)
    const statuses: number[] = []
    for (const replica of [other, svc, other, svc]) statuses.push((await sendQuestion(replica, token)).status)

    expect(statuses).toEqual([200, 200, 429, 429])
    await other.services.ai.usageLedger.flush()
    expect(await readLimitState(svc, 'all')).toEqual({ cap: 6, used: 6, held: 0, refused: 2 })
  })

  test('a spent limit says when it frees, and that retries do not help', async () => {
    await using world = await limited([{ ...requestLimit, cap: 1 }])
    const { token } = await world.svc.user()
    await sendQuestion(world.svc, token)
    await world.svc.services.ai.usageLedger.flush()

    const refusal = await sendQuestion(world.svc, token)

    expect(refusal.status).toBe(429)
    expect(refusal.headers.get('x-should-retry')).toBe('false')
    expect(Number(refusal.headers.get('retry-after'))).toBeGreaterThan(2)
    expect(await refusal.json()).toMatchObject({
      success: false,
      code: 'limit_reached',
      message: expect.stringMatching(
        /^The limit 'all' has no room for 1 more: 1 used and 0 held .*, of 1 requests a month\. It frees at \d{4}-/,
      ),
    })
  })

  test('a limit that only calls under way hold lets clients come back soon', async () => {
    await using world = await limited([{ ...requestLimit, cap: 1 }])
    const { promise: go, resolve } = Promise.withResolvers<void>()
    world.provider.behave = async (request, response) => {
      await go
      await answers('Good day.')(request, response)
    }
    const { token } = await world.svc.user()
    const first = sendQuestion(world.svc, token)
    await vi.waitUntil(() => world.provider.requests.length === 1, SLOW)

    const second = await sendQuestion(world.svc, token)
    const body = { model: 'mock-1', messages: [{ role: 'user', content: [{ type: 'text', text: 'Hello' }] }] }
    const third = await world.svc.send('POST', '/trpc/ai.complete', { token, body })
    resolve()

    for (const { status, headers } of [second, third])
      expect([status, headers.get('retry-after'), headers.get('x-should-retry')]).toEqual([429, '2', null])
    expect(await second.json()).toMatchObject({ code: 'limit_held' })
    expect((await first).status).toBe(200)
  })

  test('a limit of each user counts users separately, and shows only their own', async () => {
    await using world = await limited([{ ...requestLimit, name: 'each', for: 'user', cap: 1 }])
    const [one, two] = [await world.svc.user(), await world.svc.user()]

    const statuses = [
      await sendQuestion(world.svc, one.token),
      await sendQuestion(world.svc, two.token),
      await sendQuestion(world.svc, one.token),
    ].map(({ status }) => status)

    expect(statuses).toEqual([200, 200, 429])
    await world.svc.services.ai.usageLedger.flush()
    const mine = await client(world.svc, one.token).usage.limits.query()
    expect(mine).toEqual([expect.objectContaining({ name: 'each', subjectId: `${one.id}`, cap: 1, used: 1, held: 0 })])
    await expect(client(world.svc).usage.limits.query()).rejects.toMatchObject({ data: { code: 'UNAUTHORIZED' } })
  })

  test('a limit of a provider or model is shown to its possible callers', async () => {
    await using world = await limited([
      { ...requestLimit, name: 'provider', for: 'provider', cap: 4 },
      { ...requestLimit, name: 'model', for: 'model:mock-1', cap: 3 },
      { ...requestLimit, name: 'another model', for: 'model:mock-1', cap: 3 },
      { ...requestLimit, name: 'role', for: 'role:user', cap: 2 },
    ])
    await world.svc.rows(`update usage_limits set subject_id = 'mock-2' where name = 'another model'`)
    const { token } = await world.svc.user()
    const limits = async () =>
      (await client(world.svc, token).usage.limits.query()).map(({ name, remaining, resetsAt }) => [
        name,
        remaining,
        resetsAt > new Date().toISOString(),
      ])

    const before = await limits()
    await sendQuestion(world.svc, token)
    await world.svc.services.ai.usageLedger.flush()

    expect(before).toEqual([
      ['model', 3, true],
      ['role', 2, true],
    ])
    expect(await limits()).toEqual([
      ['model', 2, true],
      ['provider', 3, true],
      ['role', 1, true],
    ])
  })

  test.for([['provider'], ['provider:local'], ['role'], ['role:user'], ['model']])(
    'a limit of %s refuses what goes beyond it',
    async ([subject]) => {
      await using world = await limited([{ ...requestLimit, for: subject, cap: 1 }])
      const { token } = await world.svc.user()

      const statuses = [(await sendQuestion(world.svc, token)).status, (await sendQuestion(world.svc, token)).status]

      expect(statuses).toEqual([200, 429])
    },
  )

  test('a limit of a group counts every call of its members once', async () => {
    await using world = await limited([{ ...requestLimit, name: 'class', for: 'group:class 7', cap: 1 }])
    const [one, two, other] = [await world.svc.user(), await world.svc.user(), await world.svc.user()]
    const groups = ['a', 'class 7', 'class 7']
    for (const { id } of [one, two]) await world.svc.host.admin.setGroups({ user: { id }, groups })

    const statuses = [
      await sendQuestion(world.svc, one.token),
      await sendQuestion(world.svc, two.token),
      await sendQuestion(world.svc, other.token),
    ].map(({ status }) => status)
    await world.svc.host.admin.setGroups({ user: { id: two.id }, groups: [] })
    const left = (await sendQuestion(world.svc, two.token)).status

    expect([...statuses, left]).toEqual([200, 429, 200, 200])
  })

  test('a limit reports what is left of all limits by RateLimit headers', async () => {
    const own = { ...requestLimit, name: 'je Tag für', for: 'user', cap: 5, per: 'day' }
    const observingLimit = { ...requestLimit, name: 'watched', mode: 'observe' }
    await using world = await limited([{ ...requestLimit, cap: 1, per: 'day' }, own, observingLimit])
    const { token } = await world.svc.user()

    const [whole, refused] = [await sendQuestion(world.svc, token), await sendQuestion(world.svc, token)]

    expect(whole.headers.get('ratelimit-policy')).toBe('"all";q=1;w=86400, "je Tag f%C3%BCr";q=5;w=86400')
    expect(whole.headers.get('ratelimit')).toMatch(/^"all";r=0;t=\d+, "je Tag f%C3%BCr";r=4;t=\d+$/)
    expect(refused.headers.get('ratelimit')).toMatch(/^"all";r=0;t=\d+, "je Tag f%C3%BCr";r=4;t=\d+$/)
    const streamed = await world.svc.send('POST', '/api/ai-req', {
      token: (await world.svc.user()).token,
      headers: { accept: 'text/event-stream' },
      body: buildQuestion(),
    })
    expect([streamed.status, streamed.headers.get('x-should-retry')]).toEqual([429, 'false'])
  })

  test.for(['installation', 'user'])('a limit of %s that was topped up reports its whole amount', async (target) => {
    await using world = await limited([{ ...requestLimit, for: target, cap: 1, per: 'day' }])
    const { token, id } = await world.svc.user()
    const readHeaders = async () => {
      const { headers } = await sendQuestion(world.svc, token)
      return `${headers.get('ratelimit-policy')} ${headers.get('ratelimit')}`
    }
    const before = await readHeaders()
    await world.svc.host.limits.topUp({ name: 'all', amount: 2, ...(target === 'user' && { id: `${id}` }) })

    expect([before, await readHeaders(), await readHeaders(), await readHeaders()]).toEqual([
      expect.stringMatching(/^"all";q=1;w=86400 "all";r=0;/),
      expect.stringMatching(/^"all";q=3;w=86400 "all";r=1;/),
      expect.stringMatching(/^"all";q=3;w=86400 "all";r=0;/),
      expect.stringMatching(/^"all";q=3;w=86400 "all";r=0;/),
    ])
  })

  test('a limit that observes refuses nothing and counts what it would have refused', async () => {
    await using world = await limited([{ ...requestLimit, cap: 1, mode: 'observe' }])
    const { token } = await world.svc.user()

    const statuses = [await sendQuestion(world.svc, token), await sendQuestion(world.svc, token)].map(
      ({ status }) => status,
    )

    expect(statuses).toEqual([200, 200])
    expect(await readLimitState(world.svc, 'all')).toEqual({ cap: 1, used: 2, held: 0, refused: 1 })
  })

  test('a limit keeps its usage when its cap changes in either direction', async () => {
    await using world = await limited([{ ...requestLimit, cap: 3 }])
    const { token } = await world.svc.user()
    const status = async () => (await sendQuestion(world.svc, token)).status
    await status()

    await world.svc.host.limits.set({ ...requestLimit, cap: 1 } as never)
    const lowered = await status()
    await world.svc.host.limits.set({ ...requestLimit, cap: 2 } as never)
    const raised = [await status(), await status()]
    await world.svc.host.limits.topUp({ name: 'all', amount: 1 })
    const toppedUp = [await status(), await status()]

    expect([lowered, ...raised, ...toppedUp]).toEqual([429, 200, 429, 200, 429])
    expect(await readLimitState(world.svc, 'all')).toMatchObject({ cap: 3, used: 3, held: 0 })
  })

  test.for([
    ['the installation', 'installation'],
    ['each person', 'user'],
    ['one model', 'model:mock-1'],
  ] as const)('a limit of %s topped up before its first call admits exactly that more', async ([, target]) => {
    await using world = await limited([{ ...requestLimit, for: target, cap: 5 }])
    const { token, id } = await world.svc.user()
    await world.svc.host.limits.topUp({ name: 'all', amount: 10, ...(target === 'user' && { id: `${id}` }) })
    expect(await readLimitState(world.svc, 'all')).toEqual({ cap: 15, used: 0, held: 0, refused: 0 })

    const answers = await Promise.all(Array.from({ length: 30 }, () => sendQuestion(world.svc, token)))

    expect(answers.filter(({ status }) => status === 200)).toHaveLength(15)
    expect(await readLimitState(world.svc, 'all')).toEqual({ cap: 15, used: 15, held: 0, refused: 15 })
  })

  test('a limit gets back what a failed call reserved and did not use', async () => {
    await using world = await limited([{ ...requestLimit, unit: 'tokens', cap: 10_000 }])
    world.provider.behave = (_, response) => void response.writeHead(400).end('{}')
    const { token } = await world.svc.user()

    expect((await sendQuestion(world.svc, token)).status).toBe(500)

    expect(await readLimitState(world.svc, 'all')).toMatchObject({ used: 0, held: 0 })
  })
})

const client = (svc: TestApp, token?: string) =>
  createTRPCClient<AppRouter>({
    links: [httpLink({ url: `${svc.url}/trpc`, headers: token ? { authorization: `Bearer ${token}` } : {} })],
  })
