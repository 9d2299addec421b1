import type { Redis } from 'ioredis'
import { LRUCache } from 'lru-cache'
import { RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible'
import { atMost } from '../../routers/core/load/cache-size.ts'
import type { RateLimiter } from '../../routers/ports/rate-limiter.ts'

interface Window {
  taken: number
  until: number
}

/** Counts in this process, for at most `maxKeys` keys: the one not used for longest goes first. */
export function limiterInProcess(maxKeys = 200_000): RateLimiter {
  const windows = new LRUCache<string, Window>(atMost(maxKeys))
  const nameOf = (key: string, limit: number, seconds: number) => `${limit} ${seconds} ${key}`
  const lasting = (name: string) => {
    const window = windows.get(name)
    return window && window.until > Date.now() ? window : undefined
  }
  return {
    async take(key, limit, seconds = 60, points = 1) {
      const name = nameOf(key, limit, seconds)
      const window = lasting(name) ?? { taken: 0, until: Date.now() + seconds * 1000 }
      window.taken += points
      const left = window.until - Date.now()
      windows.set(name, window, { ttl: Math.max(1, left) })
      return allowanceOf(limit, limit - window.taken, left)
    },
    async giveBack(key, limit, seconds = 60) {
      const window = lasting(nameOf(key, limit, seconds))
      if (window) window.taken = Math.max(0, window.taken - 1)
    },
    clear: async (key, limit, seconds = 60) => void windows.delete(nameOf(key, limit, seconds)),
  }
}

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
    async take(key, limit, seconds, points = 1) {
      const limiter = await limiterFor(limit, seconds)
      try {
        const { remainingPoints, msBeforeNext } = await limiter.consume(key, points)
        return allowanceOf(limit, remainingPoints, msBeforeNext)
      } catch (refused) {
        // A limit that is used up comes as a rejection, too.
        if (!(refused instanceof RateLimiterRes)) return own.take(key, limit, seconds, points)
        return allowanceOf(limit, -1, refused.msBeforeNext)
      }
    },
    async giveBack(key, limit, seconds) {
      const limiter = await limiterFor(limit, seconds)
      try {
        const { consumedPoints } = await limiter.reward(key)
        // Its window is over: what is given back must not be had beyond the next one's.
        if (consumedPoints < 0) await limiter.delete(key)
      } catch {
        await own.giveBack(key, limit, seconds)
      }
    },
    async clear(key, limit, seconds) {
      const limiter = await limiterFor(limit, seconds)
      await Promise.all([limiter.delete(key).catch(() => {}), own.clear(key, limit, seconds)])
    },
  }
}

const allowanceOf = (limit: number, left: number, msBeforeNext: number) => ({
  limit,
  remaining: Math.max(-1, left),
  resetSeconds: Math.max(1, Math.ceil(msBeforeNext / 1000)),
})
