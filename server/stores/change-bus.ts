import type { ChangeBus } from '../../routers/ports/change-bus.ts'
import type { Log } from '../../routers/ports/log.ts'
import { ChangeListeners } from './change-listeners.ts'
import type { RedisAddress } from './redis-connection.ts'

/** Over Redis where there is an address, else in this process. */
export async function createChangeBus(redis: RedisAddress, log: Log): Promise<ChangeBus> {
  // Its client is loaded only where there is a server to talk to.
  return redis.url ? (await import('./redis-change-bus.ts')).overRedis(redis, log) : inProcess(log)
}

function inProcess(log: Log): ChangeBus {
  const listeners = new ChangeListeners(log)
  return {
    publish: (changes) => listeners.onChanges(changes),
    async broadcast() {},
    isConnected: () => true,
    subscribe: (listener) => listeners.add(listener),
    close: async () => {},
  }
}
