import { Redis } from 'ioredis'
import { expect } from 'vitest'
import { createRedisConcurrencyLimiter } from '../../server/stores/concurrency-limiter.ts'
import { startOwnRedis } from '../kit/parts/redis.ts'
import { testWith } from '../kit/parts/with-parts.ts'

testWith('redis')('calls that wait for the connection do not refuse each other', async () => {
  await using server = await startOwnRedis()
  const redis = new Redis(server.url)
  redis.on('error', () => {})
  const connected = new Promise<void>((done) => redis.once('ready', done))
  const limiter = createRedisConcurrencyLimiter({ redis, waitForConnection: () => connected, replica: 'one' })

  const granted = await Promise.all([limiter.acquire('person', 1), limiter.acquire('person', 1)])

  expect(granted).toEqual([true, false])
  await expect.poll(() => redis.hget('places:person', 'one')).toBe('1')
  limiter.close()
  redis.disconnect()
})

testWith('redis')('a count whose last write failed is written again after a reconnect', async () => {
  await using server = await startOwnRedis()
  const admin = new Redis(server.url)
  const redis = new Redis(server.url)
  // Until the server listens, connections are refused.
  for (const client of [admin, redis]) client.on('error', () => {})
  const limiter = createRedisConcurrencyLimiter({ redis, waitForConnection: async () => {}, replica: 'one' })
  const readCount = () => admin.hget('places:person', 'one')
  await limiter.acquire('person', 2)
  await limiter.acquire('person', 2)
  expect(await readCount()).toBe('2')

  // Redis takes the first write, which sets 1, and refuses the second, which would delete the count.
  await admin.acl('SETUSER', 'default', '-hdel')
  limiter.release('person')
  limiter.release('person')
  await redis.ping()
  expect(await readCount()).toBe('1')
  await admin.acl('SETUSER', 'default', '+hdel')
  await admin.client('KILL', 'ID', await redis.client('ID'))

  await expect.poll(readCount).toBe(null)
  limiter.close()
  redis.disconnect()
  admin.disconnect()
})
