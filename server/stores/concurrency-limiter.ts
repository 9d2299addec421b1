import type { Redis } from 'ioredis'
import type { ConcurrencyLimiter } from '../../routers/ports/concurrency-limiter.ts'

/** Milliseconds after its last heartbeat until a replica counts as dead. */
export const REPLICA_TTL_MS = 15_000

/** Returns the key of a replica's heartbeat. */
export const replicaKey = (replica: string) => `replica:${replica}`

/** Milliseconds until Redis forgets counts that are not renewed. */
const TTL_MS = 30 * 60_000
/** Milliseconds between renewals of all counts, which also restore counts that Redis has lost. */
const RENEWAL_MS = 10 * 60_000

/**
 * Sums the counts of all living replicas, and stores this replica's new count if the sum is within the limit. Keys: counts by
 * replica, heartbeat of this replica. Values: name of this replica, rank of the call in it, the limit, prefix of heartbeat keys,
 * TTL of the heartbeat, TTL of the counts, count of this replica.
 */
const ACQUIRE = `
  redis.call('set', KEYS[2], '1', 'PX', ARGV[5])
  local sum = tonumber(ARGV[2])
  for _, replica in ipairs(redis.call('hkeys', KEYS[1])) do
    if replica ~= ARGV[1] then
      if redis.call('exists', ARGV[4] .. replica) == 1 then
        sum = sum + tonumber(redis.call('hget', KEYS[1], replica))
      else
        redis.call('hdel', KEYS[1], replica)
      end
    end
  end
  if sum > tonumber(ARGV[3]) then return 0 end
  redis.call('hset', KEYS[1], ARGV[1], ARGV[7])
  redis.call('pexpire', KEYS[1], ARGV[6])
  return 1`

/** Number of acquired slots of this process, by key. */
class KeyCounts {
  readonly #counts = new Map<string, number>()

  get(key: string): number {
    return this.#counts.get(key) ?? 0
  }

  keys(): Iterable<string> {
    return this.#counts.keys()
  }

  /** Changes the count of a key; returns the new count. */
  add(key: string, change: 1 | -1): number {
    const count = Math.max(0, this.get(key) + change)
    if (count > 0) this.#counts.set(key, count)
    else this.#counts.delete(key)
    return count
  }
}

export function createLocalConcurrencyLimiter(): ConcurrencyLimiter {
  const counts = new KeyCounts()
  return {
    async acquire(key, max) {
      if (counts.get(key) >= max) return false
      counts.add(key, 1)
      return true
    },
    release: (key) => void counts.add(key, -1),
  }
}

interface RedisLimiterOptions {
  redis: Redis
  /** Resolves once Redis is connected, or has had enough time for it. */
  waitForConnection: () => Promise<void>
  /** The name of this replica. */
  replica: string
}

/**
 * Creates a limiter that counts over all replicas. The slots of a killed replica are free again once its heartbeat has expired.
 * While Redis is unavailable, each replica counts alone.
 */
export function createRedisConcurrencyLimiter({
  redis,
  waitForConnection,
  replica,
}: RedisLimiterOptions): ConcurrencyLimiter & { close(): void } {
  const counts = new KeyCounts()
  const unwritten = new Set<string>()
  const prefix = redis.options.keyPrefix ?? ''

  const write = async (key: string) => {
    const [name, count] = [buildKey(key), counts.get(key)]
    unwritten.add(key)
    if (count > 0) await redis.multi().hset(name, replica, count).pexpire(name, TTL_MS).exec()
    else await redis.hdel(name, replica)
    // A newer count has a write of its own, which may still fail.
    if (counts.get(key) === count) unwritten.delete(key)
  }
  const writeSoon = (key: string) => void write(key).catch(() => {})
  const renew = () => {
    for (const key of new Set([...counts.keys(), ...unwritten])) writeSoon(key)
  }
  const giveBack = (key: string) => {
    counts.add(key, -1)
    writeSoon(key)
  }
  redis.on('ready', renew)
  const timer = setInterval(renew, RENEWAL_MS).unref()

  return {
    async acquire(key, max) {
      const countAtCall = counts.add(key, 1)
      await waitForConnection()
      const count = counts.get(key)
      // Later calls that wait, too, do not count against this one.
      const rank = Math.min(countAtCall, count)
      const values = [replica, rank, max, prefix + replicaKey(''), REPLICA_TTL_MS, TTL_MS, count]
      const granted = await redis
        .eval(ACQUIRE, 2, buildKey(key), replicaKey(replica), ...values)
        .catch(() => rank <= max)
      if (granted) return true
      giveBack(key)
      return false
    },
    release: giveBack,
    close: () => clearInterval(timer),
  }
}

const buildKey = (key: string) => `places:${key}`
