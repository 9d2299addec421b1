import { Redis } from 'ioredis'
import type { KeyValueStore } from '../routers/key-value-store.ts'
import type { KeyValue } from './key-value.ts'
import { limiterInRedis } from './limiter.ts'
import { memberSetsInRedis } from './member-sets.ts'

const PREFIX = 'svc:'

/** The key-value store in Redis, shared by all replicas. */
export function inRedis(url: string): KeyValue {
  const redis = openClient(url)
  const ready = new Promise<void>((done) => redis.once('ready', done))
  const connected = async () => {
    if (redis.status === 'connecting' || redis.status === 'connect') await Promise.race([ready, pauseAtMost(3000)])
  }
  const values: KeyValueStore = {
    ...memberSetsInRedis(redis, connected),
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
  }
  return {
    kv: values,
    answers: values,
    limiter: limiterInRedis(redis, connected),
    close: async () => void redis.disconnect(),
  }
}

function openClient(url: string): Redis {
  // Without an offline queue a command fails at once while Redis is away, instead of holding its request.
  const redis = new Redis(url, {
    keyPrefix: PREFIX,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 1,
    commandTimeout: 3000,
  })
  // Each command reports its own failure; without a listener the reconnecting would end the process.
  redis.on('error', () => {})
  return redis
}

const pauseAtMost = (ms: number) => new Promise<void>((done) => setTimeout(done, ms).unref())
