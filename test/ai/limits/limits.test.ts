import { randomBytes } from 'node:crypto'
import { createTRPCClient, httpLink } from '@trpc/client'
import { describe, expect, test, vi } from 'vitest'
import type { AppRouter } from '../../../routers/index.ts'
import {
  answers,
  type Behaviour,
  beginStream,
  chunk,
  configFor,
  neverEnds,
  question,
  startProvider,
} from '../../kit/ai/provider.ts'
import { startApp, type TestApp } from '../../kit/app.ts'
import { dataFolder, startProcess } from '../../kit/service-process.ts'

const pricing = { currency: 'EUR', inputPerMillion: 1, cachedInputPerMillion: 0.5, outputPerMillion: 2 }

/** Tells with each piece what it counted, and never ends. */
const countsAndWaits: Behaviour = (_, response) => {
  beginStream(response)
  for (let completion_tokens = 10; completion_tokens <= 40; completion_tokens++) {
    const details = {
      prompt_tokens_details: { cached_tokens: 20 },
      completion_tokens_details: { reasoning_tokens: 10 },
    }
    response.write(
      chunk({ delta: { content: 'on ' } }, { usage: { prompt_tokens: 30, completion_tokens, ...details } }),
    )
  }
}

const ask = (svc: TestApp, token: string, text = 'Hello') =>
  svc.send('POST', '/api/ai-req', { token, body: question(text) })

/** A service with one model that answers in ten tokens, and these limits. */
async function limited(
  limits: object[],
  {
    model = {},
    provider: more = {},
    env = {},
  }: { model?: object; provider?: object; env?: Record<string, string> } = {},
) {
  const provider = await startProvider(answers('Good day.'))
  const config = await configFor(provider.url, { model, provider: more })
  const svc = await startApp({ AI_CONFIG: config.file, ...env })
  for (const limit of limits) await svc.host.limits.set(limit as Parameters<typeof svc.host.limits.set>[0])
  return {
    svc,
    provider,
    config,
    async [Symbol.asyncDispose]() {
      await svc[Symbol.asyncDispose]()
      await config[Symbol.asyncDispose]()
      await provider[Symbol.asyncDispose]()
    },
  }
}

/** Used and held of a limit, over all its counters. */
const stateOf = async (svc: TestApp, name: string) => {
  await svc.services.usageLedger.flush()
  const [found] = (await svc.host.limits.list()).filter((limit) => limit.name === name)
  return found && { cap: found.cap, used: found.used, held: found.held, refused: found.refused }
}

const requests = { name: 'all', for: 'installation', cap: 20, unit: 'requests', per: 'month' }

describe('a limit', () => {
  test('a limit of 20 requests lets exactly 20 of 60 calls through that come at once to two replicas', async () => {
    await using world = await limited([requests], { env: { APP_KEY: randomBytes(32).toString('base64') } })
    const { svc, config } = world
    await using other = await startApp({
      AI_CONFIG: config.file,
      DATABASE_URL: svc.env.DATABASE_URL as string,
      APP_KEY: svc.env.APP_KEY as string,
    })
    const { token } = await svc.user()

    const statuses = await Promise.all(
      Array.from({ length: 60 }, async (_, index) => (await ask(index % 2 ? svc : other, token)).status),
    )

    expect(statuses.filter((status) => status === 200)).toHaveLength(20)
    expect(statuses.filter((status) => status === 429)).toHaveLength(40)
    await other.services.usageLedger.flush()
    expect(await stateOf(svc, 'all')).toEqual({ cap: 20, used: 20, held: 0, refused: 40 })
    expect(world.provider.asked).toHaveLength(20)
  })

  test('a limit that is set after calls to which none applied counts every call from then on, on the other replica, too', async () => {
    await using world = await limited([], { env: { APP_KEY: randomBytes(32).toString('base64') } })
    const { svc, config } = world
    const { DATABASE_URL, APP_KEY } = svc.env as Record<'DATABASE_URL' | 'APP_KEY', string>
    await using other = await startApp({ AI_CONFIG: config.file, DATABASE_URL, APP_KEY })
    const { token } = await svc.user()
    const replicas = [svc, other, svc, other]
    // The first call of a process looks up that there is no limit, the second one is held by what it knows.
    for (const replica of replicas) expect((await ask(replica, token)).status).toBe(200)

    await svc.host.limits.set({ ...requests, cap: 2 } as never)
    const statuses: number[] = []
    for (const replica of [other, svc, other, svc]) statuses.push((await ask(replica, token)).status)

    expect(statuses).toEqual([200, 200, 429, 429])
    await other.services.usageLedger.flush()
    expect(await stateOf(svc, 'all')).toEqual({ cap: 2, used: 2, held: 0, refused: 2 })
  })

  test('a limit that is spent says so, when it frees, and that repeating is of no use', async () => {
    await using world = await limited([{ ...requests, cap: 1 }])
    const { token } = await world.svc.user()
    await ask(world.svc, token)
    await world.svc.services.usageLedger.flush()

    const refused = await ask(world.svc, token)

    expect(refused.status).toBe(429)
    expect(refused.headers.get('x-should-retry')).toBe('false')
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(2)
    expect(await refused.json()).toMatchObject({
      success: false,
      code: 'limit_reached',
      message: expect.stringMatching(
        /^The limit 'all' has no room for this: 1 used and 0 held .*, of 1 requests a month\. It frees at \d{4}-/,
      ),
    })
  })

  test('a limit that only calls under way hold lets clients come back soon', async () => {
    await using world = await limited([{ ...requests, cap: 1 }])
    const { promise: go, resolve } = Promise.withResolvers<void>()
    world.provider.behave = async (asked, response) => {
      await go
      await answers('Good day.')(asked, response)
    }
    const { token } = await world.svc.user()
    const first = ask(world.svc, token)
    await vi.waitUntil(() => world.provider.asked.length === 1)

    const second = await ask(world.svc, token)
    resolve()

    expect([second.status, second.headers.get('retry-after'), second.headers.get('x-should-retry')]).toEqual([
      429,
      '2',
      null,
    ])
    expect(await second.json()).toMatchObject({ code: 'limit_held' })
    expect((await first).status).toBe(200)
  })

  test('a limit of each user counts every user apart, and shows each only their own', async () => {
    await using world = await limited([{ ...requests, name: 'each', for: 'user', cap: 1 }])
    const [one, two] = [await world.svc.user(), await world.svc.user()]

    const statuses = [
      await ask(world.svc, one.token),
      await ask(world.svc, two.token),
      await ask(world.svc, one.token),
    ].map(({ status }) => status)

    expect(statuses).toEqual([200, 200, 429])
    await world.svc.services.usageLedger.flush()
    const mine = await client(world.svc, one.token).usage.limits.query()
    expect(mine).toEqual([expect.objectContaining({ name: 'each', subjectId: `${one.id}`, cap: 1, used: 1, held: 0 })])
    await expect(client(world.svc).usage.limits.query()).rejects.toMatchObject({ data: { code: 'UNAUTHORIZED' } })
  })

  test('a limit of a group counts all who are in it together, each call once, and nobody else', async () => {
    await using world = await limited([{ ...requests, name: 'class', for: 'group:class 7', cap: 1 }])
    const [one, two, other] = [await world.svc.user(), await world.svc.user(), await world.svc.user()]
    const groups = ['a', 'class 7', 'class 7']
    for (const { id } of [one, two]) await world.svc.host.admin.setGroups({ user: { id }, groups })

    const statuses = [
      await ask(world.svc, one.token),
      await ask(world.svc, two.token),
      await ask(world.svc, other.token),
    ].map(({ status }) => status)
    await world.svc.host.admin.setGroups({ user: { id: two.id }, groups: [] })
    const left = (await ask(world.svc, two.token)).status

    expect([...statuses, left]).toEqual([200, 429, 200, 200])
  })

  test('a limit in tokens holds input and longest answer, tells the provider, and settles at what was taken', async () => {
    await using world = await limited([{ ...requests, unit: 'tokens', cap: 200 }], {
      env: { LIMITS_MAX_OUTPUT_TOKENS: '100' },
    })
    const { token } = await world.svc.user()

    const [first, second] = [await ask(world.svc, token), await ask(world.svc, token)]

    expect([first.status, second.status]).toEqual([200, 200])
    expect(world.provider.asked.map(({ body }) => body['max_tokens'])).toEqual([100, 100])
    // The provider counts 7 and 3 a call.
    expect(await stateOf(world.svc, 'all')).toEqual({ cap: 200, used: 20, held: 0, refused: 0 })
    expect((await ask(world.svc, token, 'long '.repeat(100))).status).toBe(429)
  })

  test('a limit in tokens cuts an answer that goes on beyond what was held, says so and stops the provider', async () => {
    await using world = await limited([{ ...requests, unit: 'tokens', cap: 200 }], {
      env: { LIMITS_MAX_OUTPUT_TOKENS: '20' },
    })
    world.provider.behave = neverEnds
    const { token } = await world.svc.user()

    const headers = { accept: 'text/event-stream' }
    const answer = await world.svc.send('POST', '/api/ai-req', { token, headers, body: question() })
    const text = await answer.text()

    expect(text.match(/event: (?!delta)\w+/g)).toEqual(['event: usage', 'event: done'])
    expect(text).toMatch(/event: usage\ndata: \{.*"cut":"limit"\}/)
    await vi.waitUntil(() => world.provider.asked[0]?.abortedAt)
    await world.svc.services.usageLedger.flush()
    const [record] = await world.svc.rows(
      'select outcome, estimated, input_tokens + output_tokens as took from usage_records',
    )
    expect(record).toEqual({ outcome: 'cut', estimated: true, took: 2 + 22 })
    expect(await stateOf(world.svc, 'all')).toMatchObject({ used: 24, held: 0 })
  })

  test('a limit tells a caller what is left of all limits that apply, by RateLimit and RateLimit-Policy', async () => {
    const own = { ...requests, name: 'je Tag für', for: 'user', cap: 5, per: 'day' }
    const watched = { ...requests, name: 'watched', mode: 'observe' }
    await using world = await limited([{ ...requests, cap: 1, per: 'day' }, own, watched])
    const { token } = await world.svc.user()

    const [whole, refused] = [await ask(world.svc, token), await ask(world.svc, token)]

    expect(whole.headers.get('ratelimit-policy')).toBe('"all";q=1;w=86400, "je Tag f%C3%BCr";q=5;w=86400')
    expect(whole.headers.get('ratelimit')).toMatch(/^"all";r=0;t=\d+, "je Tag f%C3%BCr";r=4;t=\d+$/)
    expect(refused.headers.get('ratelimit')).toMatch(/^"all";r=0;t=\d+, "je Tag f%C3%BCr";r=4;t=\d+$/)
    const streamed = await world.svc.send('POST', '/api/ai-req', {
      token: (await world.svc.user()).token,
      headers: { accept: 'text/event-stream' },
      body: question(),
    })
    expect([streamed.status, streamed.headers.get('x-should-retry')]).toEqual([429, 'false'])
  })

  test('a limit in money refuses a model without a price, unless it says what such a call counts', async () => {
    await using world = await limited([{ ...requests, unit: 'EUR', cap: 1 }])
    const { token } = await world.svc.user()

    const refused = await ask(world.svc, token)
    await world.svc.host.limits.set({ ...requests, unit: 'EUR', cap: 1, unpriced: 0.25 } as never)
    const counted = await ask(world.svc, token)

    expect([refused.status, ((await refused.json()) as { message: string }).message]).toEqual([
      429,
      "The limit 'all' is in money, and the price of this model is not known.",
    ])
    expect(counted.status).toBe(200)
    expect(await stateOf(world.svc, 'all')).toMatchObject({ used: 250_000, held: 0 })
  })

  test('a limit in money counts what the call cost', async () => {
    await using world = await limited([{ ...requests, unit: 'EUR', cap: 1 }], { model: { pricing } })
    const { token } = await world.svc.user()

    await ask(world.svc, token)

    expect(await stateOf(world.svc, 'all')).toMatchObject({ used: 7 + 6, held: 0 })
  })

  test('a limit that observes refuses nothing and counts what it would have refused', async () => {
    await using world = await limited([{ ...requests, cap: 1, mode: 'observe' }])
    const { token } = await world.svc.user()

    const statuses = [await ask(world.svc, token), await ask(world.svc, token)].map(({ status }) => status)

    expect(statuses).toEqual([200, 200])
    expect(await stateOf(world.svc, 'all')).toEqual({ cap: 1, used: 2, held: 0, refused: 1 })
  })

  test('a limit keeps what was used when its cap changes, at once and in both directions', async () => {
    await using world = await limited([{ ...requests, cap: 3 }])
    const { token } = await world.svc.user()
    const status = async () => (await ask(world.svc, token)).status
    await status()

    await world.svc.host.limits.set({ ...requests, cap: 1 } as never)
    const lowered = await status()
    await world.svc.host.limits.set({ ...requests, cap: 2 } as never)
    const raised = [await status(), await status()]
    await world.svc.host.limits.topUp({ name: 'all', amount: 1 })
    const toppedUp = [await status(), await status()]

    expect([lowered, ...raised, ...toppedUp]).toEqual([429, 200, 429, 200, 429])
    expect(await stateOf(world.svc, 'all')).toMatchObject({ cap: 3, used: 3, held: 0 })
  })

  test('a limit gets back what a call that failed did not take, and keeps its request', async () => {
    await using world = await limited([{ ...requests, unit: 'tokens', cap: 10_000 }])
    world.provider.behave = (_, response) => void response.writeHead(400).end('{}')
    const { token } = await world.svc.user()

    expect((await ask(world.svc, token)).status).toBe(500)

    expect(await stateOf(world.svc, 'all')).toMatchObject({ used: 0, held: 0 })
  })
})

describe('a call whose process died', () => {
  test('a call whose process died is settled by another process at what it had delivered', async () => {
    const APP_KEY = randomBytes(32).toString('base64')
    const limit = { ...requests, unit: 'tokens', cap: 10_000 }
    await using world = await limited([limit], {
      env: { APP_KEY },
      provider: { continuousUsage: true },
      model: { pricing },
    })
    world.provider.behave = countsAndWaits
    const { token } = await world.svc.user()
    await using folder = await dataFolder()
    const DATABASE_URL = world.svc.env.DATABASE_URL as string
    const settings = { DATABASE_URL, APP_KEY, DATA_DIR: folder.path, AI_CONFIG: world.config.file, PORT: '0' }
    await using dying = startProcess({ ...settings, NODE_ENV: 'development' })
    const url = await dying.ready()
    const headers = {
      authorization: `Bearer ${token}`,
      accept: 'text/event-stream',
      'content-type': 'application/json',
    }
    const answer = await fetch(`${url}/api/ai-req`, { method: 'POST', headers, body: JSON.stringify(question()) })
    const isTold = async () =>
      (await world.svc.rows('select id from usage_holds where output_tokens = 40')).length === 1
    await vi.waitUntil(isTold, { timeout: 15_000, interval: 100 })
    expect(await stateOf(world.svc, 'all')).toMatchObject({ used: 0, held: 2 + 4096 })

    dying.kill('SIGKILL')
    await dying.ended
    await answer.body?.cancel().catch(() => {})
    await world.svc.rows("update usage_holds set lease_until = now() - interval '1 s'")

    await vi.waitUntil(async () => (await stateOf(world.svc, 'all'))?.held === 0, { timeout: 15_000, interval: 200 })
    expect(await stateOf(world.svc, 'all')).toMatchObject({ used: 70, held: 0 })
    expect(
      await world.svc.rows(`select outcome, estimated, input_tokens as input, output_tokens as output, cached_tokens as cached,
        reasoning_tokens as reasoning, cost_micros::int as cost, currency from usage_records`),
    ).toEqual([
      {
        ...{ outcome: 'lost', estimated: true, input: 30, output: 40, cached: 20, reasoning: 10 },
        ...{ cost: 10 + 20 * 0.5 + 40 * 2, currency: 'EUR' },
      },
    ])
  }, 60_000)
})

const client = (svc: TestApp, token?: string) =>
  createTRPCClient<AppRouter>({
    links: [httpLink({ url: `${svc.url}/trpc`, headers: token ? { authorization: `Bearer ${token}` } : {} })],
  })
