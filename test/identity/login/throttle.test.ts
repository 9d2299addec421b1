import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { describe, expect, inject, test } from 'vitest'
import { createLoginThrottle, type LoginLimits } from '../../../routers/identity/sessions/login-throttle.ts'
import { createKeyValue } from '../../../server/stores/key-value.ts'
import { testWith } from '../../kit/parts/with-parts.ts'

const limits: LoginLimits = { perAccount: 3, perAddress: 5, windowSeconds: 600 }

let opened = 0

const stores = ['in process', 'Redis'] as const
const urlOf = (store: (typeof stores)[number]) => (store === 'Redis' ? inject('redisUrl') : undefined)

describe.for(stores)('the login throttle, %s', (store) => {
  const run = store === 'Redis' ? testWith('redis') : test

  /** Opens a throttle with accounts and addresses that no other test uses. */
  async function open(more: Partial<LoginLimits> = {}) {
    const { limiter, close } = await createKeyValue({ url: urlOf(store) })
    const throttle = createLoginThrottle(limiter, { ...limits, ...more })
    const own = randomUUID()
    const network = `10.0.${++opened}`
    return {
      throttle,
      take: (account: string, address: string, browserId?: string) => throttle.consume({ account, address, browserId }),
      account: (name = 'ann') => `${name}.${own}@example.org`,
      address: (last: number) => `${network}.${last}`,
      [Symbol.asyncDispose]: close,
    }
  }

  run('refuses an account that was tried too often from many addresses', async () => {
    await using t = await open()
    for (const from of [1, 2, 3]) expect((await t.take(t.account(), t.address(from))).remaining).toBe(3 - from)

    const refusal = await t.take(t.account(), t.address(4))

    expect(refusal.remaining).toBeLessThan(0)
    expect(refusal.resetSeconds).toBeGreaterThan(500)
    expect(refusal.resetSeconds).toBeLessThanOrEqual(600)
    expect((await t.take(t.account('bea'), t.address(4))).remaining).toBeGreaterThanOrEqual(0)
  })

  run('refuses an address that tries many accounts, and counts nothing for accounts from there', async () => {
    await using t = await open()
    for (let i = 0; i < 5; i++) await t.take(t.account(`a${i}`), t.address(1))

    for (let i = 0; i < 9; i++) expect((await t.take(t.account(), t.address(1))).remaining).toBeLessThan(0)

    expect((await t.take(t.account(), t.address(2))).remaining).toBe(2)
  })

  run('counts an IPv6 network as one address, and any spelling of IPv4 too', async () => {
    await using t = await open({ perAddress: 2 })
    const network = randomUUID().slice(9, 18).replace('-', ':')
    const six = (end: string) => `2001:db8:${network}:${end}`
    await t.take(t.account('a'), six(':1'))
    await t.take(t.account('b'), six('aaaa:bbbb:cccc:dddd'))
    await t.take(t.account('a'), t.address(7))
    await t.take(t.account('b'), `::ffff:${t.address(7)}`)

    expect((await t.take(t.account('c'), six(':2'))).remaining).toBeLessThan(0)
    expect((await t.take(t.account('c'), t.address(7))).remaining).toBeLessThan(0)
    expect((await t.take(t.account('c'), t.address(8))).remaining).toBeGreaterThanOrEqual(0)
  })

  run('forgets the failures of an account after a login, not those of the address', async () => {
    await using t = await open()
    for (let i = 0; i < 4; i++) await t.take(t.account(), t.address(1))
    expect((await t.take(t.account(), t.address(2))).remaining).toBeLessThan(0)

    for (let i = 0; i < 9; i++) {
      await t.throttle.recordSuccess({ account: t.account(), address: t.address(1) })
      expect((await t.take(t.account(), t.address(1))).remaining).toBeGreaterThanOrEqual(0)
    }

    expect((await t.take(t.account(), t.address(2))).remaining).toBe(1)
    expect((await t.take(t.account('bea'), t.address(1))).remaining).toBe(0)
    expect((await t.take(t.account('bea'), t.address(1))).remaining).toBeLessThan(0)
  })

  run('gives back what a source took that did not answer', async () => {
    await using t = await open()
    const attempt = { account: t.account(), address: t.address(1) }

    for (let i = 0; i < 9; i++) {
      expect((await t.throttle.consume(attempt)).remaining).toBe(2)
      await t.throttle.refund(attempt)
    }
  })

  run('gives nothing back beyond what was taken', async () => {
    await using t = await open()
    const attempt = { account: t.account(), address: t.address(1) }

    for (let i = 0; i < 3; i++) await t.throttle.refund(attempt)

    for (const left of [2, 1, 0, -1]) expect((await t.take(attempt.account, attempt.address)).remaining).toBe(left)
  })

  run('counts a browser that signed in before separately and within its own bound', async () => {
    await using t = await open()
    for (let i = 0; i < 9; i++) await t.take(t.account(), t.address(1))

    for (const left of [2, 1, 0]) expect((await t.take(t.account(), t.address(1), 'known')).remaining).toBe(left)
    expect((await t.take(t.account(), t.address(1), 'known')).remaining).toBeLessThan(0)
    expect((await t.take(t.account(), t.address(1), 'other')).remaining).toBe(2)
    expect((await t.take(t.account('bea'), t.address(2), 'known')).remaining).toBe(2)

    await t.throttle.recordSuccess({ account: t.account(), address: t.address(1), browserId: 'known' })
    expect((await t.take(t.account(), t.address(1), 'known')).remaining).toBe(2)
    expect((await t.take(t.account(), t.address(3))).remaining).toBeLessThan(0)
  })

  run('lets no more through when all try at once', async () => {
    await using t = await open({ perAddress: 100 })

    const outcomes = await Promise.all(Array.from({ length: 20 }, (_, i) => t.take(t.account(), t.address(i))))

    expect(outcomes.filter(({ remaining }) => remaining >= 0)).toHaveLength(3)
  })

  run('takes tries again when the window is over', async () => {
    await using t = await open({ perAccount: 1, windowSeconds: 5 })
    await t.take(t.account(), t.address(1))
    expect((await t.take(t.account(), t.address(1))).remaining).toBeLessThan(0)

    await expect.poll(async () => (await t.take(t.account(), t.address(2))).remaining).toBe(0)
  })
})

testWith('redis')('replicas count together, and Redis holds neither account nor address', async () => {
  const url = inject('redisUrl')!
  const [one, two] = await Promise.all([createKeyValue({ url }), createKeyValue({ url })])
  const redis = new Redis(url)
  const account = `zoe.q-${randomUUID()}`
  try {
    const from = (last: number) => ({ account, address: `192.0.2.${last}` })
    for (const { limiter } of [one, one, one]) await createLoginThrottle(limiter, limits).consume(from(77))

    expect((await createLoginThrottle(two.limiter, limits).consume(from(78))).remaining).toBeLessThan(0)

    await createLoginThrottle(two.limiter, limits).recordSuccess(from(78))
    expect((await createLoginThrottle(one.limiter, limits).consume(from(78))).remaining).toBe(2)
    const keys = await redis.keys('*login:*')
    expect(keys.length).toBeGreaterThan(1)
    expect(keys.join()).not.toMatch(/zoe\.q|192\.0\.2/)
  } finally {
    redis.disconnect()
    await Promise.all([one.close(), two.close()])
  }
})
