import { LRUCache } from 'lru-cache'
import { RateLimiterMemory } from 'rate-limiter-flexible'
import type { KeyValueStore } from '../routers/key-value-store.ts'
import type { RateLimiter } from '../routers/rate-limit.ts'
import { limiterOf } from './limiter.ts'
import { memberSetsInProcess } from './member-sets.ts'

/** The key-value store and what counts in it. */
export interface KeyValue {
  kv: KeyValueStore
  limiter: RateLimiter
  close(): Promise<void>
}

/** In Redis where there is an address, else in this process. */
export async function createKeyValue(redisUrl: string | undefined): Promise<KeyValue> {
  // Its client is loaded only where there is a server to talk to.
  return redisUrl ? (await import('./redis.ts')).inRedis(redisUrl) : inProcess()
}

/** Characters of all keys and values: what was not used for longest goes first. */
const MOST = 64 * 1024 * 1024
const MOST_SETS = 100_000

function inProcess(): KeyValue {
  const values = new LRUCache<string, string>({
    maxSize: MOST,
    sizeCalculation: (value, key) => key.length + value.length,
  })
  const sets = memberSetsInProcess(MOST_SETS)
  return {
    kv: {
      ...sets,
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
      delete: async (key) => {
        values.delete(key)
        await sets.delete(key)
      },
      ping: async () => {},
    },
    limiter: limiterOf((points, duration) => new RateLimiterMemory({ points, duration })),
    close: async () => {},
  }
}
