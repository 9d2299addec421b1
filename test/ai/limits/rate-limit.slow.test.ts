import { randomBytes } from 'node:crypto'
import { describe, expect, inject, test } from 'vitest'
import { buildQuestion, startProvider, writeConfig } from '../../kit/ai/provider.ts'
import { startApp, type TestApp } from '../../kit/app.ts'
import { testWith } from '../../kit/parts/with-parts.ts'
import { shareResource } from '../../kit/share-resource.ts'

const provider = shareResource(startProvider)
const config = shareResource(() => writeConfig(provider.url))
/** Service with a rate limit of five questions a minute for each person. */
const svc = shareResource(() => startApp({ AI_CONFIG: config.file, RATE_LIMIT_AI_PER_MINUTE: '5' }))

const sendQuestion = (svc: TestApp, token: string) => svc.send('POST', '/api/ai-req', { token, body: buildQuestion() })

describe('a rate limit', () => {
  const statuses = (answers: Response[]) => answers.map(({ status }) => status)

  test('a rate limit is off by default', async () => {
    await using svc = await startApp({ AI_CONFIG: config.file })
    const { token } = await svc.user()

    const answers = await Promise.all(Array.from({ length: 30 }, () => sendQuestion(svc, token)))

    expect(new Set(statuses(answers))).toEqual(new Set([200]))
    expect(answers[0]?.headers.has('ratelimit-limit')).toBe(false)
  })

  test('a rate limit counts requests in a minute, and says what is left', async () => {
    const { token } = await svc.user()
    const before = provider.requests.length
    const first = await sendQuestion(svc, token)
    const streamed = await svc.send('POST', '/api/ai-req', {
      token,
      body: buildQuestion(),
      headers: { accept: 'text/event-stream' },
    })
    for (let more = 0; more < 3; more++) await sendQuestion(svc, token)
    const refusal = await sendQuestion(svc, token)

    const limitOf = (response: Response) =>
      ['limit', 'remaining'].map((name) => response.headers.get(`ratelimit-${name}`)).join(' of ')
    expect(limitOf(first)).toBe('5 of 4')
    expect(limitOf(streamed)).toBe('5 of 3')
    expect(limitOf(refusal)).toBe('5 of 0')
    expect(refusal.status).toBe(429)
    const wait = Number(refusal.headers.get('retry-after'))
    expect(wait).toBeGreaterThan(0)
    expect(wait).toBeLessThanOrEqual(60)
    expect(Number(refusal.headers.get('ratelimit-reset'))).toBe(wait)
    expect(first.headers.has('retry-after')).toBe(false)
    expect(await refusal.json()).toEqual({
      success: false,
      message: 'Too many requests. Try again later.',
      code: 'too_many_requests',
      requestId: refusal.headers.get('x-request-id'),
    })
    expect(provider.requests.length - before).toBe(5)
  })

  test('a rate limit holds for all tokens of a person, and nobody else', async () => {
    const ada = await svc.user()
    const bob = await svc.user()
    const { token: second } = await svc.host.tokens.createFor({ user: { id: ada.id }, name: 'second' })

    for (const token of [ada.token, second, ada.token, second, ada.token])
      expect((await sendQuestion(svc, token)).status).toBe(200)
    expect((await sendQuestion(svc, ada.token)).status).toBe(429)
    expect((await sendQuestion(svc, second)).status).toBe(429)
    expect((await sendQuestion(svc, bob.token)).status).toBe(200)
  })

  test('a rate limit admits no more concurrent requests than it says', async () => {
    const { token } = await svc.user()

    const answers = await Promise.all(Array.from({ length: 20 }, () => sendQuestion(svc, token)))

    expect(statuses(answers).filter((status) => status === 200)).toHaveLength(5)
    expect(statuses(answers).filter((status) => status === 429)).toHaveLength(15)
  })

  testWith('redis')('a rate limit is one over two replicas that share a Redis', async () => {
    const shared = {
      AI_CONFIG: config.file,
      RATE_LIMIT_AI_PER_MINUTE: '10',
      REDIS_URL: inject('redisUrl') ?? '',
      APP_KEY: randomBytes(32).toString('base64'),
    }
    await using one = await startApp(shared)
    await using two = await startApp({ ...shared, DATABASE_URL: one.env.DATABASE_URL ?? '' })
    // Tests share the Redis and fresh databases assign the same ids, so this test uses ids of its own.
    await one.rows(`select setval('users_id_seq', $1)`, [Math.floor(Math.random() * 1e9) + 1000])
    await one.rows(`select setval('access_tokens_id_seq', $1)`, [Math.floor(Math.random() * 1e9) + 1000])
    const { token } = await one.user()

    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, index) => sendQuestion(index % 2 ? one : two, token)),
    )

    expect(statuses(answers).filter((status) => status === 200)).toHaveLength(10)
    expect(statuses(answers).filter((status) => status === 429)).toHaveLength(20)
    expect((await sendQuestion(two, token)).headers.get('retry-after')).toMatch(/^\d+$/)
  })
})
