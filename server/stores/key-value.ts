import { randomUUID } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { ConcurrencyLimiter } from '../../routers/ports/concurrency-limiter.ts'
import type { AnswerStore, KeyValueStore } from '../../routers/ports/key-value-store.ts'
import type { RateLimiter } from '../../routers/ports/rate-limiter.ts'
import { placesInProcess } from './places.ts'
import { limiterInProcess } from './rate-limiter.ts'
import type { RedisAddress } from './redis-connection.ts'

/** The key-value stores and what counts in them. In process each purpose has room of its own, and pushes out no other. */
export interface KeyValue {
  kv: KeyValueStore
  answers: AnswerStore
  previews: AnswerStore
  limiter: RateLimiter
  places: ConcurrencyLimiter
  /** The name of this process among those that share the store. */
  replica: string
  close(): Promise<void>
}

/** In Redis where there is an address, else in this process. */
export async function createKeyValue(redis: RedisAddress): Promise<KeyValue> {
  // Its client is loaded only where there is a server to talk to.
  return redis.url ? (await import('./redis.ts')).inRedis(redis, randomUUID()) : inProcess()
}

/** Characters of all keys and values of a store: what was not used for longest goes first. */
const MAX_SIZE = 64 * 1024 * 1024

const inProcess = (): KeyValue => ({
  kv: { ...valuesInProcess(), ping: async () => {} },
  answers: valuesInProcess(),
  previews: valuesInProcess(),
  limiter: limiterInProcess(),
  places: placesInProcess(),
  replica: randomUUID(),
  close: async () => {},
})

function valuesInProcess(): AnswerStore {
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
    replaceOwn: async (key, own, value, ttlMs) => {
      if ((values.get(key) ?? own) !== own) return false
      values.set(key, value, { ttl: ttlMs })
      return true
    },
    deleteOwn: async (key, own) => {
      if (values.get(key) === own) values.delete(key)
    },
  }
}
