import type { SessionStore } from '@fastify/session'
import { LRUCache } from 'lru-cache'
import { atMost } from '../../routers/core/load/cache-size.ts'

type Found = Parameters<Parameters<SessionStore['get']>[1]>[1]

const MAX_SESSIONS = 20_000

/** How long a session that has ended may still be found, in milliseconds. */
const MAX_AGE_MS = 5000

/**
 * Finds sessions without asking for each again: after a restart every page asks for all of its channels at once. For requests
 * alone that grant nothing by themselves, and that change no session.
 */
export function recentSessions(store: SessionStore): SessionStore {
  const recent = new LRUCache<string, Promise<Found>>({ ...atMost(MAX_SESSIONS), ttl: MAX_AGE_MS })
  const find = (id: string) =>
    new Promise<Found>((done, fail) => store.get(id, (error, found) => (error ? fail(error) : done(found))))
  const remember = (id: string) => {
    const found = find(id)
    recent.set(id, found)
    found.then(
      (session) => session || recent.delete(id),
      () => recent.delete(id),
    )
    return found
  }
  return {
    ...store,
    get(id, callback) {
      ;(recent.get(id) ?? remember(id)).then(
        (session) => callback(null, session && { ...session }),
        (error: unknown) => callback(error),
      )
    },
  }
}
