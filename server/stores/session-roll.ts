import type { KeyValueStore } from '../../routers/ports/key-value-store.ts'
import type { SessionRoll } from '../../routers/ports/session-roll.ts'
import { MAX_SESSIONS, ownerOf, placeOf, readSession, rollOf } from './sessions.ts'

export function createSessionRoll(kv: KeyValueStore): SessionRoll {
  return {
    async list(userId) {
      const handles = (await kv.members(rollOf(userId))).slice(0, MAX_SESSIONS)
      const records = await Promise.all(handles.map((handle) => readSession(kv, handle)))
      // A session may have ended between its place and the roll.
      return handles.flatMap((handle, at) => {
        const record = records[at]
        return record && ownerOf(record) === userId ? [{ handle, record }] : []
      })
    },
    async end(userId, handle) {
      const record = await readSession(kv, handle)
      if (!record || ownerOf(record) !== userId) return false
      await kv.delete(placeOf(handle))
      await kv.removeMember(rollOf(userId), handle)
      return true
    },
    async clear(userId) {
      const handles = await kv.members(rollOf(userId))
      await Promise.all(handles.map((handle) => kv.delete(placeOf(handle))))
      await kv.delete(rollOf(userId))
    },
  }
}
