import type { Redis } from 'ioredis'
import { LRUCache } from 'lru-cache'
import type { KeyValueStore } from '../../routers/ports/key-value-store.ts'

/** Sets whose members each have their time. */
type MemberSets = Pick<KeyValueStore, 'addMember' | 'removeMember' | 'members'>

export function memberSetsInProcess(most: number): MemberSets & Pick<KeyValueStore, 'delete'> {
  // A size of one each, rather than `max`, which would take the room for all of them at once.
  const sets = new LRUCache<string, Map<string, number>>({ maxSize: most, sizeCalculation: () => 1 })
  /** In the order in which they were added. */
  const lasting = (key: string) => new Map([...(sets.get(key) ?? [])].filter(([, until]) => until > Date.now()))

  return {
    async addMember(key, member, ttlMs) {
      const members = lasting(key)
      members.delete(member)
      sets.set(key, members.set(member, Date.now() + ttlMs), { ttl: ttlMs })
    },
    removeMember: async (key, member) => void sets.get(key)?.delete(member),
    members: async (key) => [...lasting(key).keys()].reverse(),
    delete: async (key) => void sets.delete(key),
  }
}

/** Sorted by when their time is over. */
export function memberSetsInRedis(redis: Redis, connected: () => Promise<void>): MemberSets {
  return {
    async addMember(key, member, ttlMs) {
      await connected()
      const now = Date.now()
      const cleared = redis.multi().zremrangebyscore(key, '-inf', now)
      await cleared
        .zadd(key, now + ttlMs, member)
        .pexpire(key, ttlMs)
        .exec()
    },
    async removeMember(key, member) {
      await connected()
      await redis.zrem(key, member)
    },
    async members(key) {
      await connected()
      return redis.zrevrangebyscore(key, '+inf', `(${Date.now()}`)
    },
  }
}
