import type { ChangeBus } from '../../routers/ports/change-bus.ts'
import type { Log } from '../../routers/ports/log.ts'
import { ChangeListeners } from './change-listeners.ts'
import type { RedisAddress } from './redis-connection.ts'

/** Creates the change bus: over Redis if an address is set, else within this process. */
export async function createChangeBus(redis: RedisAddress, log: Log): Promise<ChangeBus> {
  // The Redis client is loaded only if it is needed.
  return redis.url
    ? (await import('./redis-change-bus.ts')).createRedisChangeBus(redis, log)
    : createLocalChangeBus(log)
}

function createLocalChangeBus(log: Log): ChangeBus {
  const listeners = new ChangeListeners(log)
  return {
    publish: (changes) => listeners.onChanges(changes),
    async broadcast() {},
    isConnected: () => true,
    subscribe: (listener) => listeners.add(listener),
    close: async () => {},
  }
}
