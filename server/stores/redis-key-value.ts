import type { Redis } from 'ioredis'
import { RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible'
import { Problem } from '../../routers/core/problems.ts'
import type { KeyValueStore } from '../../routers/ports/key-value-store.ts'
import type { RateLimiter } from '../../routers/ports/rate-limiter.ts'
import { createRedisConcurrencyLimiter } from './concurrency-limiter.ts'
import { createLocalRateLimiter, toAllowance } from './rate-limiter.ts'
import { connectRedis, type RedisAddress } from './redis-connection.ts'

const PREFIX = 'svc:'

/** Sets a value if the key is absent or has the expected value. Values: expected value, new value, TTL. */
const REPLACE_IF_UNCHANGED = `
  local current = redis.call('get', KEYS[1])
  if current and current ~= ARGV[1] then return 0 end
  redis.call('set', KEYS[1], ARGV[2], 'PX', ARGV[3])
  return 1`

const DELETE_IF_UNCHANGED = `if redis.call('get', KEYS[1]) == ARGV[1] then redis.call('del', KEYS[1]) end`

/** Creates the key-value store in Redis that all replicas share. `replica` is the name of this process. */
export function createRedisKeyValue(address: RedisAddress, replica: string) {
  const redis = openClient(address)
  const ready = new Promise<void>((done) => redis.once('ready', done))
  const waitForConnection = async () => {
    if (redis.status === 'connecting' || redis.status === 'connect') await Promise.race([ready, pause(3000)])
  }
  const values = withRedisErrors(createRedisStore(redis, waitForConnection))
  const concurrencyLimiter = createRedisConcurrencyLimiter({ redis, waitForConnection, replica })
  return {
    kv: values,
    answers: values,
    previews: values,
    limiter: createRedisRateLimiter(redis, waitForConnection),
    concurrencyLimiter,
    replica,
    close: async () => {
      concurrencyLimiter.close()
      redis.disconnect()
    },
  }
}

function createRedisStore(redis: Redis, waitForConnection: () => Promise<void>): KeyValueStore {
  return {
    get: async (key) => {
      await waitForConnection()
      return (await redis.get(key)) ?? undefined
    },
    set: async (key, value, ttlMs) => {
      await waitForConnection()
      await redis.set(key, value, 'PX', ttlMs)
    },
    setIfAbsent: async (key, value, ttlMs) => {
      await waitForConnection()
      return (await redis.set(key, value, 'PX', ttlMs, 'NX')) === 'OK'
    },
    delete: async (key) => {
      await waitForConnection()
      await redis.del(key)
    },
    replaceIfUnchanged: async (key, expected, value, ttlMs) => {
      await waitForConnection()
      return (await redis.eval(REPLACE_IF_UNCHANGED, 1, key, expected, value, ttlMs)) === 1
    },
    deleteIfUnchanged: async (key, expected) => {
      await waitForConnection()
      await redis.eval(DELETE_IF_UNCHANGED, 1, key, expected)
    },
    ping: async () => {
      await waitForConnection()
      await redis.ping()
    },
  }
}

/** Wraps a store so that a failed command throws a problem that names REDIS_URL, for the caller and the log. */
function withRedisErrors(store: KeyValueStore): KeyValueStore {
  const rethrow = (error: unknown): never => {
    const cause = new Error('Redis does not answer. REDIS_URL says where it is looked for.', { cause: error })
    throw new Problem('unavailable', { detail: 'The key-value store does not answer. Check REDIS_URL.', cause })
  }
  const commands = Object.entries(store) as [string, (...args: unknown[]) => Promise<unknown>][]
  const wrapped = commands.map(([name, command]) => [name, (...args: unknown[]) => command(...args).catch(rethrow)])
  return Object.fromEntries(wrapped)
}

function openClient(address: RedisAddress): Redis {
  // Without an offline queue a command fails immediately while Redis is unavailable, instead of delaying its request.
  return connectRedis(address, {
    keyPrefix: PREFIX,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 1,
    commandTimeout: 3000,
  })
}

const pause = (ms: number) => new Promise<void>((done) => setTimeout(done, ms).unref())

/** Creates a rate limiter in Redis; while Redis is unavailable, each replica counts alone. */
function createRedisRateLimiter(redis: Redis, waitForConnection: () => Promise<void>): RateLimiter {
  const fallback = createLocalRateLimiter()
  const limiters = new Map<string, RateLimiterRedis>()
  const findOrCreateLimiter = async (limit: number, seconds = 60) => {
    await waitForConnection()
    const name = `rate:${limit}:${seconds}`
    const options = { storeClient: redis, keyPrefix: name, points: limit, duration: seconds }
    const limiter = limiters.get(name) ?? new RateLimiterRedis(options)
    limiters.set(name, limiter)
    return limiter
  }
  return {
    async consume(key, limit, seconds, points = 1) {
      const limiter = await findOrCreateLimiter(limit, seconds)
      try {
        const { remainingPoints, msBeforeNext } = await limiter.consume(key, points)
        return toAllowance(limit, remainingPoints, msBeforeNext)
      } catch (refused) {
        // An exhausted limit is a rejection, too.
        if (!(refused instanceof RateLimiterRes)) return fallback.consume(key, limit, seconds, points)
        return toAllowance(limit, -1, refused.msBeforeNext)
      }
    },
    async refund(key, limit, seconds) {
      const limiter = await findOrCreateLimiter(limit, seconds)
      try {
        const { consumedPoints } = await limiter.reward(key)
        // The window has ended: the returned point must not enlarge the next window.
        if (consumedPoints < 0) await limiter.delete(key)
      } catch {
        await fallback.refund(key, limit, seconds)
      }
    },
    async clear(key, limit, seconds) {
      const limiter = await findOrCreateLimiter(limit, seconds)
      await Promise.all([limiter.delete(key).catch(() => {}), fallback.clear(key, limit, seconds)])
    },
  }
}
