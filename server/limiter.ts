import { type RateLimiterMemory, type RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible'
import type { RateLimiter } from '../routers/rate-limit.ts'

type Limiter = RateLimiterMemory | RateLimiterRedis

/** Counts in what `create` makes, one for each limit. */
export function limiterOf(
  create: (points: number, seconds: number) => Limiter,
  connected = async () => {},
): RateLimiter {
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
    async giveBack(key, limit, seconds) {
      await connected()
      await limiterFor(limit, seconds).reward(key)
    },
    async clear(key, limit, seconds) {
      await connected()
      await limiterFor(limit, seconds).delete(key)
    },
  }
}
