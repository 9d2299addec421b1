import { LRUCache } from 'lru-cache'
import { maxEntries } from '../../routers/core/load/cache-size.ts'
import type { RateLimiter } from '../../routers/ports/rate-limiter.ts'

interface Window {
  used: number
  endsAt: number
}

/** Creates a rate limiter of this process for at most `maxKeys` keys; the least recently used key is evicted first. */
export function createLocalRateLimiter(maxKeys = 200_000): RateLimiter {
  const windows = new LRUCache<string, Window>(maxEntries(maxKeys))
  const buildKey = (key: string, limit: number, seconds: number) => `${limit} ${seconds} ${key}`
  const findOpenWindow = (name: string) => {
    const window = windows.get(name)
    return window && window.endsAt > Date.now() ? window : undefined
  }
  return {
    async consume(key, limit, seconds = 60, points = 1) {
      const name = buildKey(key, limit, seconds)
      const window = findOpenWindow(name) ?? { used: 0, endsAt: Date.now() + seconds * 1000 }
      window.used += points
      const left = window.endsAt - Date.now()
      windows.set(name, window, { ttl: Math.max(1, left) })
      return toAllowance(limit, limit - window.used, left)
    },
    async refund(key, limit, seconds = 60) {
      const window = findOpenWindow(buildKey(key, limit, seconds))
      if (window) window.used = Math.max(0, window.used - 1)
    },
    clear: async (key, limit, seconds = 60) => void windows.delete(buildKey(key, limit, seconds)),
  }
}

export const toAllowance = (limit: number, left: number, msBeforeNext: number) => ({
  limit,
  remaining: Math.max(-1, left),
  resetSeconds: Math.max(1, Math.ceil(msBeforeNext / 1000)),
})
