import { randomBytes } from 'node:crypto'
import { createTRPCClient, httpLink } from '@trpc/client'
import { describe, expect, inject, test, vi } from 'vitest'
import type { AppRouter } from '../../../routers/index.ts'
import { type Behaviour, completion, configFor, json, question, replies, startProvider } from '../../kit/ai/provider.ts'
import { startApp, type TestApp } from '../../kit/app.ts'
import { administer } from '../../kit/database.ts'
import { testWith } from '../../kit/parts/with-parts.ts'

const pricing = { currency: 'EUR', inputPerMillion: 0.4, outputPerMillion: 1.6, cachedInputPerMillion: 0.1 }

/** Answers with these counts. */
const counts =
  (usage: object): Behaviour =>
  (_, response) =>
    json(response, { ...completion('Fine.'), usage })

const client = (svc: TestApp, token?: string) =>
  createTRPCClient<AppRouter>({
    links: [httpLink({ url: `${svc.url}/trpc`, headers: token ? { authorization: `Bearer ${token}` } : {} })],
  })

const ask = (svc: TestApp, token: string) => svc.send('POST', '/api/ai-req', { token, body: question() })

describe('a usage record', () => {
  test('a usage record holds who asked which model, what it took and what it cost, and no word of it', async () => {
    await using provider = await startProvider(
      counts({
        prompt_tokens: 1000,
        completion_tokens: 500,
        prompt_tokens_details: { cached_tokens: 200 },
        completion_tokens_details: { reasoning_tokens: 300 },
      }),
    )
    await using config = await configFor(provider.url, { model: { pricing } })
    await using svc = await startApp({ AI_CONFIG: config.file })
    const { id, token } = await svc.user()

    const response = await ask(svc, token)
    await svc.services.usageLedger.flush()

    expect(await svc.rows('select * from usage_records')).toEqual([
      {
        id: '1',
        created_at: expect.anything(),
        user_id: id,
        token_id: Number(token.split('_')[1]),
        room_id: null,
        app_id: null,
        context: 'api',
        provider: 'local',
        model: 'mock-1',
        input_tokens: 1000,
        output_tokens: 500,
        cached_tokens: 200,
        cache_write_tokens: 0,
        estimated: false,
        reasoning_tokens: 300,
        outcome: 'completed',
        duration_ms: expect.any(Number),
        // 800 x 0.4 + 200 x 0.1 + 500 x 1.6 millionths: reasoning is part of the output and counted once.
        cost_micros: '1140',
        currency: 'EUR',
        price_id: 1,
        request_id: response.headers.get('x-request-id'),
      },
    ])
  })

  test('a usage record has no cost where no price is known, and rounds to whole millionths', async () => {
    await using provider = await startProvider(counts({ prompt_tokens: 1, completion_tokens: 1 }))
    await using config = await configFor(provider.url)
    await using svc = await startApp({ AI_CONFIG: config.file })
    const { token } = await svc.user()
    await ask(svc, token)
    await svc.services.usageLedger.flush()
    await config.write({
      ...config.config,
      providers: [{ ...config.config.providers[0], models: [{ id: 'mock-1', external: true, pricing }] }],
    })
    await svc.host.models.sync()

    await ask(svc, token)
    await svc.services.usageLedger.flush()

    expect(await svc.rows('select cost_micros, currency from usage_records order by id')).toEqual([
      { cost_micros: null, currency: null },
      { cost_micros: '2', currency: 'EUR' },
    ])
  })

  test('a usage record survives the token and the person, without them', async () => {
    await using provider = await startProvider()
    await using config = await configFor(provider.url)
    await using svc = await startApp({ AI_CONFIG: config.file })
    const { id, token } = await svc.user()
    await ask(svc, token)
    await svc.host.tokens.revokeFor({ user: { id }, tokenId: Number(token.split('_')[1]) })
    await svc.services.usageLedger.flush()

    expect(await svc.rows('select user_id, token_id from usage_records')).toEqual([{ user_id: id, token_id: null }])
    await svc.host.admin.removeUser({ user: { id } })
    expect(await svc.rows('select user_id, token_id from usage_records')).toEqual([{ user_id: null, token_id: null }])
  })

  test('a usage record drops whoever was removed while the call was under way, and nothing else keeps them', async () => {
    const waiting = Promise.withResolvers<void>()
    await using provider = await startProvider(async (asked, response) => {
      await waiting.promise
      return replies(JSON.stringify(completion('Too late.')))(asked, response)
    })
    await using config = await configFor(provider.url)
    await using svc = await startApp({ AI_CONFIG: config.file })
    const { id, token } = await svc.user()
    const asking = ask(svc, token)
    await vi.waitFor(() => expect(provider.asked).toHaveLength(1))

    await svc.host.admin.removeUser({ user: { id } })
    waiting.resolve()
    await asking
    await svc.services.usageLedger.flush()

    expect(await svc.rows('select user_id, token_id, outcome from usage_records')).toMatchObject([
      { user_id: null, token_id: null },
    ])
    expect(await svc.rows('select user_id from usage_holds')).toEqual([])
  })
})

describe('usage.summary', () => {
  test('usage.summary tells the caller their own, by day, model and context', async () => {
    await using provider = await startProvider(counts({ prompt_tokens: 10, completion_tokens: 5 }))
    await using config = await configFor(provider.url, { model: { pricing } })
    await using svc = await startApp({ AI_CONFIG: config.file })
    const ada = await svc.user()
    const bob = await svc.user()
    for (const { token } of [ada, ada, ada, bob]) await ask(svc, token)
    await svc.services.usageLedger.flush()
    await svc.rows(`update usage_records set created_at = now() - interval '2 days' where id = 1`)
    const day = (ago: number) => new Date(Date.now() - ago * 86_400_000).toISOString().slice(0, 10)
    const none = { cachedTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0, estimated: 0, unpriced: 0 }
    const row = { model: 'mock-1', context: 'api', currency: 'EUR', ...none }

    expect(await client(svc, ada.token).usage.summary.query()).toEqual([
      { ...row, day: day(0), requests: 2, inputTokens: 20, outputTokens: 10, costMicros: 24 },
      { ...row, day: day(2), requests: 1, inputTokens: 10, outputTokens: 5, costMicros: 12 },
    ])
    expect(await client(svc, bob.token).usage.summary.query()).toMatchObject([{ requests: 1 }])
    expect(await client(svc, ada.token).usage.summary.query({ from: day(1), to: day(0) })).toHaveLength(1)
    expect(await client(svc, (await svc.user()).token).usage.summary.query()).toEqual([])
  })

  test('usage.summary tells nothing to guests, to tokens that may not read, and to wrong periods', async () => {
    await using svc = await startApp()
    const { token } = await svc.user()
    const { token: asker } = await svc.user({ abilities: ['ai'] })

    await expect(client(svc).usage.summary.query()).rejects.toMatchObject({ data: { httpStatus: 401 } })
    await expect(client(svc, asker).usage.summary.query()).rejects.toMatchObject({ data: { httpStatus: 403 } })
    await expect(client(svc, token).usage.report.query()).rejects.toMatchObject({ data: { httpStatus: 403 } })
    const backwards = { from: '2026-02-01', to: '2026-01-01' }
    await expect(client(svc, token).usage.summary.query(backwards)).rejects.toMatchObject({ data: { httpStatus: 400 } })
  })

  test('usage.report tells administrators of everybody', async () => {
    await using provider = await startProvider()
    await using config = await configFor(provider.url)
    await using svc = await startApp({ AI_CONFIG: config.file })
    const { username, token } = await svc.user()
    const admin = await svc.user({ role: 'admin' })
    await ask(svc, token)
    await svc.services.usageLedger.flush()

    expect(await client(svc, admin.token).usage.report.query()).toMatchObject([
      { username, provider: 'local', model: 'mock-1', outcome: 'completed', requests: 1 },
    ])
  })
})

describe('a rate limit', () => {
  const statuses = (answers: Response[]) => answers.map(({ status }) => status)

  test('a rate limit is off by default', async () => {
    await using provider = await startProvider()
    await using config = await configFor(provider.url)
    await using svc = await startApp({ AI_CONFIG: config.file })
    const { token } = await svc.user()

    const answers = await Promise.all(Array.from({ length: 30 }, () => ask(svc, token)))

    expect(new Set(statuses(answers))).toEqual(new Set([200]))
    expect(answers[0]?.headers.has('ratelimit-limit')).toBe(false)
  })

  test('a rate limit counts what is asked in a minute, and says what is left', async () => {
    await using provider = await startProvider()
    await using config = await configFor(provider.url)
    await using svc = await startApp({ AI_CONFIG: config.file, RATE_LIMIT_AI_PER_MINUTE: '3' })
    const { token } = await svc.user()
    const first = await ask(svc, token)
    const streamed = await svc.send('POST', '/api/ai-req', {
      token,
      body: question(),
      headers: { accept: 'text/event-stream' },
    })
    await ask(svc, token)
    const refused = await ask(svc, token)

    const told = (response: Response) =>
      ['limit', 'remaining'].map((name) => response.headers.get(`ratelimit-${name}`)).join(' of ')
    expect(told(first)).toBe('3 of 2')
    expect(told(streamed)).toBe('3 of 1')
    expect(told(refused)).toBe('3 of 0')
    expect(refused.status).toBe(429)
    const wait = Number(refused.headers.get('retry-after'))
    expect(wait).toBeGreaterThan(0)
    expect(wait).toBeLessThanOrEqual(60)
    expect(Number(refused.headers.get('ratelimit-reset'))).toBe(wait)
    expect(first.headers.has('retry-after')).toBe(false)
    expect(await refused.json()).toEqual({
      success: false,
      message: 'Too many requests. Try again later.',
      code: 'too_many_requests',
      requestId: refused.headers.get('x-request-id'),
    })
    expect(provider.asked).toHaveLength(3)
  })

  test('a rate limit holds for all tokens of a person together, and for nobody else', async () => {
    await using provider = await startProvider()
    await using config = await configFor(provider.url)
    await using svc = await startApp({ AI_CONFIG: config.file, RATE_LIMIT_AI_PER_MINUTE: '2' })
    const ada = await svc.user()
    const bob = await svc.user()
    const { token: second } = await svc.host.tokens.createFor({ user: { id: ada.id }, name: 'second' })

    expect((await ask(svc, ada.token)).status).toBe(200)
    expect((await ask(svc, second)).status).toBe(200)
    expect((await ask(svc, ada.token)).status).toBe(429)
    expect((await ask(svc, second)).status).toBe(429)
    expect((await ask(svc, bob.token)).status).toBe(200)
  })

  test('a rate limit lets through no more than it says when all come at once', async () => {
    await using provider = await startProvider()
    await using config = await configFor(provider.url)
    await using svc = await startApp({ AI_CONFIG: config.file, RATE_LIMIT_AI_PER_MINUTE: '5' })
    const { token } = await svc.user()

    const answers = await Promise.all(Array.from({ length: 20 }, () => ask(svc, token)))

    expect(statuses(answers).filter((status) => status === 200)).toHaveLength(5)
    expect(statuses(answers).filter((status) => status === 429)).toHaveLength(15)
  })

  testWith('redis')('a rate limit is one over two replicas that share a Redis', async () => {
    await using provider = await startProvider()
    await using config = await configFor(provider.url)
    const shared = {
      AI_CONFIG: config.file,
      RATE_LIMIT_AI_PER_MINUTE: '10',
      REDIS_URL: inject('redisUrl') ?? '',
      APP_KEY: randomBytes(32).toString('base64'),
    }
    await using one = await startApp(shared)
    await using two = await startApp({ ...shared, DATABASE_URL: one.env.DATABASE_URL ?? '' })
    // Tests share the Redis, and ids of a fresh database are the same in all: this one's is its own.
    await one.rows(`select setval('users_id_seq', $1)`, [Math.floor(Math.random() * 1e9) + 1000])
    await one.rows(`select setval('access_tokens_id_seq', $1)`, [Math.floor(Math.random() * 1e9) + 1000])
    const { token } = await one.user()

    const answers = await Promise.all(Array.from({ length: 30 }, (_, index) => ask(index % 2 ? one : two, token)))

    expect(statuses(answers).filter((status) => status === 200)).toHaveLength(10)
    expect(statuses(answers).filter((status) => status === 429)).toHaveLength(20)
    expect((await ask(two, token)).headers.get('retry-after')).toMatch(/^\d+$/)
  })
})

describe('a database that is gone', () => {
  const nameOf = (svc: TestApp) => new URL(svc.env.DATABASE_URL ?? '').pathname.slice(1)
  const cut = async (svc: TestApp) => {
    await administer(`alter database ${nameOf(svc)} with allow_connections false`)
    await administer(`select pg_terminate_backend(pid) from pg_stat_activity where datname = '${nameOf(svc)}'`)
  }
  const restore = (svc: TestApp) => administer(`alter database ${nameOf(svc)} with allow_connections true`)

  test('a database that is gone in the middle of a request costs neither the answer nor the record', async () => {
    const waiting = Promise.withResolvers<void>()
    await using provider = await startProvider(async (asked, response) => {
      await waiting.promise
      return replies(JSON.stringify(completion('Here all the same.')))(asked, response)
    })
    await using config = await configFor(provider.url)
    await using svc = await startApp({ AI_CONFIG: config.file })
    const { token } = await svc.user()
    const asking = ask(svc, token)
    await vi.waitFor(() => expect(provider.asked).toHaveLength(1))

    await cut(svc)
    waiting.resolve()
    const response = await asking

    expect(response.status).toBe(200)
    expect(await response.json()).toEqual({ success: true, content: { text: 'Here all the same.' } })
    await vi.waitFor(() => expect(svc.log.join('')).toContain('a batch could not be written'), { timeout: 10_000 })
    await restore(svc)
    await vi.waitFor(
      async () => expect(await svc.rows('select outcome from usage_records')).toEqual([{ outcome: 'completed' }]),
      { timeout: 20_000, interval: 200 },
    )
  })

  test('a database that is gone before a request is a clean 503, and the service recovers', async () => {
    await using provider = await startProvider()
    await using config = await configFor(provider.url)
    await using svc = await startApp({ AI_CONFIG: config.file })
    const { token } = await svc.user()
    await cut(svc)

    const response = await ask(svc, token)

    expect(response.status).toBe(503)
    const text = await response.text()
    expect(JSON.parse(text)).toEqual({
      success: false,
      message: 'The service is not available. Try again later.',
      code: 'unavailable',
      requestId: response.headers.get('x-request-id'),
    })
    expect((await svc.send('GET', '/api/user', { token })).status).toBe(503)
    expect((await fetch(`${svc.url}/health/live`)).status).toBe(200)

    await restore(svc)
    await vi.waitFor(async () => expect((await ask(svc, token)).status).toBe(200), { timeout: 20_000, interval: 200 })
  })

  test('a database whose connections were all cut is used again at once', async () => {
    await using provider = await startProvider()
    await using config = await configFor(provider.url)
    await using svc = await startApp({ AI_CONFIG: config.file })
    const { token } = await svc.user()
    await Promise.all(Array.from({ length: 10 }, () => ask(svc, token)))

    await administer(`select pg_terminate_backend(pid) from pg_stat_activity where datname = '${nameOf(svc)}'`)

    await vi.waitFor(async () => expect((await ask(svc, token)).status).toBe(200), { timeout: 20_000, interval: 200 })
    await svc.services.usageLedger.flush()
    await vi.waitFor(async () =>
      expect((await svc.rows('select id from usage_records')).length).toBe(provider.asked.length),
    )
  })
})
