import { randomUUID } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { ConcurrencyLimiter } from '../../routers/ports/concurrency-limiter.ts'
import type { AnswerStore, KeyValueStore } from '../../routers/ports/key-value-store.ts'
import type { RateLimiter } from '../../routers/ports/rate-limiter.ts'
import { createLocalConcurrencyLimiter } from './concurrency-limiter.ts'
import { createLocalRateLimiter } from './rate-limiter.ts'
import type { RedisAddress } from './redis-connection.ts'

/** The key-value stores and the limiters. Within one process each store has a size limit of its own, so that none evicts entries of another. */
export interface KeyValueServices {
  kv: KeyValueStore
  answers: AnswerStore
  previews: AnswerStore
  limiter: RateLimiter
  concurrencyLimiter: ConcurrencyLimiter
  /** Unique name of this process among the replicas. */
  replica: string
  close(): Promise<void>
}

/** Creates the key-value stores: in Redis if an address is set, else within this process. */
export async function createKeyValue(redis: RedisAddress): Promise<KeyValueServices> {
  // The Redis client is loaded only if it is needed.
  return redis.url
    ? (await import('./redis-key-value.ts')).createRedisKeyValue(redis, randomUUID())
    : createLocalKeyValue()
}

/** Largest size of a store, in characters of its keys and values; the least recently used entry is evicted first. */
const MAX_SIZE = 64 * 1024 * 1024

const createLocalKeyValue = (): KeyValueServices => ({
  kv: { ...createLocalStore(), ping: async () => {} },
  answers: createLocalStore(),
  previews: createLocalStore(),
  limiter: createLocalRateLimiter(),
  concurrencyLimiter: createLocalConcurrencyLimiter(),
  replica: randomUUID(),
  close: async () => {},
})

function createLocalStore(): AnswerStore {
  const values = new LRUCache<string, string>({
    maxSize: MAX_SIZE,
    sizeCalculation: (value, key) => key.length + value.length,
  })
  return {
    get: async (key) => values.get(key),
    set: async (key, value, ttlMs) => void values.set(key, value, { ttl: ttlMs }),
    setIfAbsent: async (key, value, ttlMs) => {
      if (values.has(key)) return false
      values.set(key, value, { ttl: ttlMs })
      return true
    },
    delete: async (key) => void values.delete(key),
    replaceIfUnchanged: async (key, expected, value, ttlMs) => {
      if ((values.get(key) ?? expected) !== expected) return false
      values.set(key, value, { ttl: ttlMs })
      return true
    },
    deleteIfUnchanged: async (key, expected) => {
      if (values.get(key) === expected) values.delete(key)
    },
  }
}
