import type { Redis } from 'ioredis'
import type { ConcurrencyLimiter } from '../../routers/ports/concurrency-limiter.ts'

/** How long a replica is believed to live after its last sign of life, in milliseconds. */
export const REPLICA_TTL_MS = 15_000

/** Where a replica gives its sign of life. */
export const replicaKey = (replica: string) => `replica:${replica}`

/** Counts are written anew before they are forgotten, and where Redis has lost them. In milliseconds. */
const TTL_MS = 30 * 60_000
const RENEWAL_MS = 10 * 60_000

/**
 * Counts what each living replica has taken, and writes the own count where there is room. Keys: the counts by replica, the own
 * sign of life. Values: the own name, the own count, how many there may be, where others give their signs of life, times to live.
 */
const TAKE = `
  redis.call('set', KEYS[2], '1', 'PX', ARGV[5])
  local taken = tonumber(ARGV[2])
  for _, replica in ipairs(redis.call('hkeys', KEYS[1])) do
    if replica ~= ARGV[1] then
      if redis.call('exists', ARGV[4] .. replica) == 1 then
        taken = taken + tonumber(redis.call('hget', KEYS[1], replica))
      else
        redis.call('hdel', KEYS[1], replica)
      end
    end
  end
  if taken > tonumber(ARGV[3]) then return 0 end
  redis.call('hset', KEYS[1], ARGV[1], ARGV[2])
  redis.call('pexpire', KEYS[1], ARGV[6])
  return 1`

/** How many places of each key are taken in this process. */
class Taken {
  readonly #counts = new Map<string, number>()

  of(key: string): number {
    return this.#counts.get(key) ?? 0
  }

  keys(): Iterable<string> {
    return this.#counts.keys()
  }

  /** Returns how many there are then. */
  add(key: string, change: 1 | -1): number {
    const count = Math.max(0, this.of(key) + change)
    if (count > 0) this.#counts.set(key, count)
    else this.#counts.delete(key)
    return count
  }
}

export function placesInProcess(): ConcurrencyLimiter {
  const taken = new Taken()
  return {
    async acquire(key, max) {
      if (taken.of(key) >= max) return false
      taken.add(key, 1)
      return true
    },
    release: (key) => void taken.add(key, -1),
  }
}

interface SharedPlaces {
  redis: Redis
  /** Resolves once Redis has had its time to connect. */
  connected: () => Promise<void>
  /** The name of this replica. */
  replica: string
}

/** What a replica that was killed had taken is free once its sign of life has run out. While Redis is away, each counts for itself. */
export function placesInRedis({ redis, connected, replica }: SharedPlaces): ConcurrencyLimiter & { close(): void } {
  const taken = new Taken()
  const unwritten = new Set<string>()
  const prefix = redis.options.keyPrefix ?? ''

  const write = async (key: string) => {
    const [name, count] = [buildKey(key), taken.of(key)]
    unwritten.add(key)
    if (count > 0) await redis.multi().hset(name, replica, count).pexpire(name, TTL_MS).exec()
    else await redis.hdel(name, replica)
    unwritten.delete(key)
  }
  const writeSoon = (key: string) => void write(key).catch(() => {})
  const renew = () => {
    for (const key of new Set([...taken.keys(), ...unwritten])) writeSoon(key)
  }
  const giveBack = (key: string) => {
    taken.add(key, -1)
    writeSoon(key)
  }
  redis.on('ready', renew)
  const timer = setInterval(renew, RENEWAL_MS).unref()

  return {
    async acquire(key, max) {
      taken.add(key, 1)
      await connected()
      const count = taken.of(key)
      const given = [replica, count, max, prefix + replicaKey(''), REPLICA_TTL_MS, TTL_MS]
      const granted = await redis.eval(TAKE, 2, buildKey(key), replicaKey(replica), ...given).catch(() => count <= max)
      if (granted) return true
      giveBack(key)
      return false
    },
    release: giveBack,
    close: () => clearInterval(timer),
  }
}

const buildKey = (key: string) => `places:${key}`
