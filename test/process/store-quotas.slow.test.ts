// @module-tag debian

import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest'
import { createLocalRateLimiter } from '../../server/stores/rate-limiter.ts'
import { startApp, type TestApp } from '../kit/app.ts'
import { signIn } from '../kit/browser.ts'
import { createApiClient } from '../kit/json-api/client.ts'
import { flushRedis, redisDatabaseUrl } from '../kit/parts/redis.ts'

const drivers: [string, Record<string, string>][] = [['in this process', {}]]
if (inject('redisUrl')) drivers.push(['in Redis', { REDIS_URL: redisDatabaseUrl(4) }])

const DAY = 24 * 60 * 60
const MAX_KEYS = 5000
const MAX_KEPT = 2 * 1024 * 1024

const provider = (providerId: string) => ({
  data: { type: 'ai-providers', attributes: { providerId, name: providerId, adapter: 'demo' } },
})

const value = (size: number) =>
  ['iv', 'tag', 'x'.repeat(size)].map((part) => Buffer.from(part).toString('base64')).join('|')
const entries = (count: number, size: number) =>
  Array.from({ length: count }, (_, index) => ({ key: `room-${index}`, keyType: 'room_key', value: value(size) }))

/** An administrator and another person who may use idempotency keys. */
async function people(svc: TestApp) {
  const open = async (role?: 'admin') => {
    const { id, token } = await svc.user({ ...(role && { role }), abilities: ['read', 'write', 'keychain'] })
    const client = createApiClient(svc, token)
    return {
      id,
      create: (key: string, name: string) =>
        client.send('POST', '/ai-providers', provider(name), { 'idempotency-key': key }),
      update: (key: string, body: object) =>
        client.send('POST', '/user-keychain-values/actions/batch-update', body, {
          'content-type': 'application/json',
          'idempotency-key': key,
        }),
    }
  }
  return [await open('admin'), await open('admin')] as const
}

describe.for(drivers)('with stores %s', ([, settings]) => {
  let svc: TestApp
  beforeAll(async () => {
    if (settings['REDIS_URL']) await flushRedis(settings['REDIS_URL'])
    svc = await startApp(settings)
  })
  afterAll(() => svc[Symbol.asyncDispose]())
  beforeEach(async () => {
    await svc.rows(`delete from ai_providers where provider_id <> 'demo'`)
  })

  test("one person's stored responses evict no session and nobody else's response", async () => {
    const [ada, bob] = await people(svc)
    const { browser } = await signIn(svc, 'carol')
    const first = await bob.create('mine', 'bobs')
    expect((await ada.update('fill', { set: entries(150, 8000) })).status).toBe(200)

    for (let index = 0; index < 45; index++) expect((await ada.update(`again-${index}`, {})).status).toBe(200)

    expect((await browser.send('GET', '/check-session')).body).toMatchObject({ expired: false })
    const again = await bob.create('mine', 'bobs')
    expect([again.status, again.text]).toEqual([201, first.text])
  })

  test('a repeat with an oversized stored body gets status and Location', async () => {
    const [ada] = await people(svc)
    const set = entries(4, 8000)
    const first = await ada.update('large', { set })
    await ada.update('other', { clean: true })

    const again = await ada.update('large', { set })

    expect([first.status, again.status]).toEqual([200, 200])
    expect(first.list).toHaveLength(4)
    expect(again.meta).toEqual({ _svc_sync_log: [], note: expect.stringMatching(/not kept/) })
    expect(again.list).toBeUndefined()
    expect(again.headers.get('content-type')).toBe('application/vnd.api+json')
    expect(await svc.rows('select 1 from user_keychain_values where user_id = $1', [ada.id])).toEqual([])
    expect((await ada.update('large', {})).status).toBe(409)
  })

  test("response bodies are stored up to a person's quota, without loss for others", async () => {
    const [ada, bob] = await people(svc)
    const first = await ada.create('one', 'a')
    const used = MAX_KEPT - 2 * first.text.length - 50
    await svc.services.limits.limiter.consume(`idempotency:kept:user ${ada.id}`, MAX_KEPT, DAY, used)

    const answers = [first, await ada.create('two', 'b'), await ada.create('three', 'c')]
    const repeats = [await ada.create('one', 'a'), await ada.create('two', 'b'), await ada.create('three', 'c')]
    const other = [await bob.create('one', 'd'), await bob.create('one', 'd')]

    expect(repeats.map(({ status }) => status)).toEqual([201, 201, 201])
    expect(repeats.slice(0, 2).map(({ text }) => text)).toEqual(answers.slice(0, 2).map(({ text }) => text))
    expect(repeats[2]?.text).not.toBe(answers[2]?.text)
    expect(repeats[2]?.meta['note']).toMatch(/not kept/)
    expect(repeats[2]?.headers.get('location')).toBe(answers[2]?.headers.get('location'))
    expect(other[1]?.text).toBe(other[0]?.text)
    expect(await svc.rows('select 1 from ai_providers where provider_id = any($1)', ['{a,b,c,d}'])).toHaveLength(4)
  })

  test("idempotency keys beyond a person's quota are refused before anything happens", async () => {
    const [ada, bob] = await people(svc)
    await svc.services.limits.limiter.consume(`idempotency:keys:user ${ada.id}`, MAX_KEYS, DAY, MAX_KEYS - 1)

    const wrong = await ada.create('wrong', '')
    const last = await ada.create('last', 'a')
    const refused = await ada.create('more', 'b')
    const repeated = await ada.create('last', 'a')
    const other = await bob.create('more', 'c')

    expect([wrong.status, last.status, refused.status, repeated.status, other.status]).toEqual([
      422, 201, 429, 201, 201,
    ])
    expect(refused.errors).toMatchObject([{ status: '429', code: 'too_many_requests' }])
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(repeated.text).toBe(last.text)
    expect(await svc.rows(`select 1 from ai_providers where provider_id = 'b'`)).toEqual([])
  })
})

test('counts in this process are bounded: the one not used for longest goes first', async () => {
  const limiter = createLocalRateLimiter(3)
  for (const key of ['a', 'b', 'c', 'a', 'd']) await limiter.consume(key, 10)

  expect((await limiter.consume('a', 10)).remaining).toBe(7)
  expect((await limiter.consume('b', 10)).remaining).toBe(9)
})
