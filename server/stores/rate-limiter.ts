import { LRUCache } from 'lru-cache'
import { maxEntries } from '../../routers/core/load/cache-size.ts'
import type { RateLimiter } from '../../routers/ports/rate-limiter.ts'

interface Window {
  taken: number
  until: number
}

/** Counts in this process, for at most `maxKeys` keys: the one not used for longest goes first. */
export function limiterInProcess(maxKeys = 200_000): RateLimiter {
  const windows = new LRUCache<string, Window>(maxEntries(maxKeys))
  const buildKey = (key: string, limit: number, seconds: number) => `${limit} ${seconds} ${key}`
  const lasting = (name: string) => {
    const window = windows.get(name)
    return window && window.until > Date.now() ? window : undefined
  }
  return {
    async consume(key, limit, seconds = 60, points = 1) {
      const name = buildKey(key, limit, seconds)
      const window = lasting(name) ?? { taken: 0, until: Date.now() + seconds * 1000 }
      window.taken += points
      const left = window.until - Date.now()
      windows.set(name, window, { ttl: Math.max(1, left) })
      return toAllowance(limit, limit - window.taken, left)
    },
    async refund(key, limit, seconds = 60) {
      const window = lasting(buildKey(key, limit, seconds))
      if (window) window.taken = Math.max(0, window.taken - 1)
    },
    clear: async (key, limit, seconds = 60) => void windows.delete(buildKey(key, limit, seconds)),
  }
}

export const toAllowance = (limit: number, left: number, msBeforeNext: number) => ({
  limit,
  remaining: Math.max(-1, left),
  resetSeconds: Math.max(1, Math.ceil(msBeforeNext / 1000)),
})
