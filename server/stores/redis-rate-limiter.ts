import type { Redis } from 'ioredis'
import { RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible'
import type { RateLimiter } from '../../routers/ports/rate-limiter.ts'
import { limiterInProcess, toAllowance } from './rate-limiter.ts'

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
        return toAllowance(limit, remainingPoints, msBeforeNext)
      } catch (refused) {
        // A limit that is used up comes as a rejection, too.
        if (!(refused instanceof RateLimiterRes)) return own.take(key, limit, seconds, points)
        return toAllowance(limit, -1, refused.msBeforeNext)
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
