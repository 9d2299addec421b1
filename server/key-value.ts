import { Redis } from 'ioredis'
import { LRUCache } from 'lru-cache'
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible'
import type { KeyValueStore } from '../routers/key-value-store.ts'
import type { RateLimiter } from '../routers/rate-limit.ts'

/** The key-value store and what counts in it. */
export interface KeyValue {
  kv: KeyValueStore
  limiter: RateLimiter
  close(): Promise<void>
}

/** In Redis where there is an address, else in this process. */
export function createKeyValue(redisUrl: string | undefined): KeyValue {
  return redisUrl ? inRedis(redisUrl) : inProcess()
}

const PREFIX = 'svc:'

function inRedis(url: string): KeyValue {
  // Without an offline queue a command fails at once while Redis is away, instead of holding its request.
  const redis = new Redis(url, {
    keyPrefix: PREFIX,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 1,
    commandTimeout: 3000,
  })
  // Each command reports its own failure; without a listener the reconnecting would end the process.
  redis.on('error', () => {})
  const ready = new Promise<void>((done) => redis.once('ready', done))
  const connected = async () => {
    if (redis.status === 'connecting' || redis.status === 'connect') await Promise.race([ready, pauseAtMost(3000)])
  }
  return {
    kv: {
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
      setIfPresent: async (key, value, ttlMs) => {
        await connected()
        return (await redis.set(key, value, 'PX', ttlMs, 'XX')) === 'OK'
      },
      delete: async (key) => {
        await connected()
        await redis.del(key)
      },
      ping: async () => {
        await connected()
        await redis.ping()
      },
    },
    limiter: limiterOf(
      (points, duration) =>
        new RateLimiterRedis({
          storeClient: redis,
          keyPrefix: `rate:${points}:${duration}`,
          points,
          duration,
          // While Redis is away each replica counts for itself.
          insuranceLimiter: new RateLimiterMemory({ points, duration }),
        }),
      connected,
    ),
    close: async () => void redis.disconnect(),
  }
}

const pauseAtMost = (ms: number) => new Promise<void>((done) => setTimeout(done, ms).unref())

function inProcess(): KeyValue {
  const values = new LRUCache<string, string>({ max: 100_000 })
  return {
    kv: {
      get: async (key) => values.get(key),
      set: async (key, value, ttlMs) => void values.set(key, value, { ttl: ttlMs }),
      setIfAbsent: async (key, value, ttlMs) => {
        if (values.has(key)) return false
        values.set(key, value, { ttl: ttlMs })
        return true
      },
      setIfPresent: async (key, value, ttlMs) => {
        if (!values.has(key)) return false
        values.set(key, value, { ttl: ttlMs })
        return true
      },
      delete: async (key) => void values.delete(key),
      ping: async () => {},
    },
    limiter: limiterOf((points, duration) => new RateLimiterMemory({ points, duration })),
    close: async () => {},
  }
}

type Limiter = RateLimiterMemory | RateLimiterRedis

function limiterOf(create: (points: number, seconds: number) => Limiter, connected = async () => {}): RateLimiter {
  const limiters = new Map<string, Limiter>()
  const limiterFor = (limit: number, seconds = 60) => {
    const name = `${limit} ${seconds}`
    const limiter = limiters.get(name) ?? create(limit, seconds)
    limiters.set(name, limiter)
    return limiter
  }
  return {
    async take(key, limit, seconds) {
      await connected()
      const limiter = limiterFor(limit, seconds)
      // A limit that is used up comes as a rejection of the same kind.
      const taken = await limiter.consume(key).catch((refused: unknown) => {
        if (refused instanceof RateLimiterRes) return { ...refused, msBeforeNext: refused.msBeforeNext, refused }
        throw refused
      })
      const remaining = 'refused' in taken ? -1 : taken.remainingPoints
      return { limit, remaining, resetSeconds: Math.max(1, Math.ceil(taken.msBeforeNext / 1000)) }
    },
    async clear(key, limit, seconds) {
      await connected()
      await limiterFor(limit, seconds).delete(key)
    },
  }
}
