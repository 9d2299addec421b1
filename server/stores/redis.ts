import type { Redis } from 'ioredis'
import { RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible'
import { Problem } from '../../routers/core/problems.ts'
import type { KeyValueStore } from '../../routers/ports/key-value-store.ts'
import type { RateLimiter } from '../../routers/ports/rate-limiter.ts'
import { placesInRedis } from './places.ts'
import { limiterInProcess, toAllowance } from './rate-limiter.ts'
import { connectRedis, type RedisAddress } from './redis-connection.ts'

const PREFIX = 'svc:'

/** Values: the own value, the one to be put in its place, how long that lasts. */
const REPLACE_OWN = `
  local there = redis.call('get', KEYS[1])
  if there and there ~= ARGV[1] then return 0 end
  redis.call('set', KEYS[1], ARGV[2], 'PX', ARGV[3])
  return 1`

const DELETE_OWN = `if redis.call('get', KEYS[1]) == ARGV[1] then redis.call('del', KEYS[1]) end`

/** The key-value store in Redis, shared by all replicas. `replica` is the name of this one. */
export function inRedis(address: RedisAddress, replica: string) {
  const redis = openClient(address)
  const ready = new Promise<void>((done) => redis.once('ready', done))
  const connected = async () => {
    if (redis.status === 'connecting' || redis.status === 'connect') await Promise.race([ready, pauseAtMost(3000)])
  }
  const values = namingRedis(valuesIn(redis, connected))
  const places = placesInRedis({ redis, connected, replica })
  return {
    kv: values,
    answers: values,
    previews: values,
    limiter: limiterInRedis(redis, connected),
    places,
    replica,
    close: async () => {
      places.close()
      redis.disconnect()
    },
  }
}

function valuesIn(redis: Redis, connected: () => Promise<void>): KeyValueStore {
  return {
    get: async (key) => {
      await connected()
      return (await redis.get(key)) ?? undefined
    },
    set: async (key, value, ttlMs) => {
      await connected()
      await redis.set(key, value, 'PX', ttlMs)
    },
    setIfAbsent: async (key, value, ttlMs) => {
      await connected()
      return (await redis.set(key, value, 'PX', ttlMs, 'NX')) === 'OK'
    },
    delete: async (key) => {
      await connected()
      await redis.del(key)
    },
    replaceOwn: async (key, own, value, ttlMs) => {
      await connected()
      return (await redis.eval(REPLACE_OWN, 1, key, own, value, ttlMs)) === 1
    },
    deleteOwn: async (key, own) => {
      await connected()
      await redis.eval(DELETE_OWN, 1, key, own)
    },
    ping: async () => {
      await connected()
      await redis.ping()
    },
  }
}

/** A command that fails says which setting to look at, to the caller and in the log. */
function namingRedis(store: KeyValueStore): KeyValueStore {
  const failed = (error: unknown): never => {
    const cause = new Error('Redis does not answer. REDIS_URL says where it is looked for.', { cause: error })
    throw new Problem('unavailable', { detail: 'The key-value store does not answer. Check REDIS_URL.', cause })
  }
  const commands = Object.entries(store) as [string, (...args: unknown[]) => Promise<unknown>][]
  const named = commands.map(([name, command]) => [name, (...args: unknown[]) => command(...args).catch(failed)])
  return Object.fromEntries(named)
}

function openClient(address: RedisAddress): Redis {
  // Without an offline queue a command fails at once while Redis is away, instead of holding its request.
  return connectRedis(address, {
    keyPrefix: PREFIX,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 1,
    commandTimeout: 3000,
  })
}

const pauseAtMost = (ms: number) => new Promise<void>((done) => setTimeout(done, ms).unref())

/** Counts in Redis; while it is away each replica counts for itself. */
export function limiterInRedis(redis: Redis, connected: () => Promise<void>): RateLimiter {
  const own = limiterInProcess()
  const limiters = new Map<string, RateLimiterRedis>()
  const limiterFor = async (limit: number, seconds = 60) => {
    await connected()
    const name = `rate:${limit}:${seconds}`
    const options = { storeClient: redis, keyPrefix: name, points: limit, duration: seconds }
    const limiter = limiters.get(name) ?? new RateLimiterRedis(options)
    limiters.set(name, limiter)
    return limiter
  }
  return {
    async consume(key, limit, seconds, points = 1) {
      const limiter = await limiterFor(limit, seconds)
      try {
        const { remainingPoints, msBeforeNext } = await limiter.consume(key, points)
        return toAllowance(limit, remainingPoints, msBeforeNext)
      } catch (refused) {
        // A limit that is used up comes as a rejection, too.
        if (!(refused instanceof RateLimiterRes)) return own.consume(key, limit, seconds, points)
        return toAllowance(limit, -1, refused.msBeforeNext)
      }
    },
    async refund(key, limit, seconds) {
      const limiter = await limiterFor(limit, seconds)
      try {
        const { consumedPoints } = await limiter.reward(key)
        // Its window is over: what is given back must not be had beyond the next one's.
        if (consumedPoints < 0) await limiter.delete(key)
      } catch {
        await own.refund(key, limit, seconds)
      }
    },
    async clear(key, limit, seconds) {
      const limiter = await limiterFor(limit, seconds)
      await Promise.all([limiter.delete(key).catch(() => {}), own.clear(key, limit, seconds)])
    },
  }
}
