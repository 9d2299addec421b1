import { createHash, randomBytes } from 'node:crypto'
import type { KeyValueStore } from '../routers/key-value-store.ts'
import type { NewSession, SessionRecord } from '../routers/session.ts'

/** Sessions in the key-value store, shared by all replicas where it is. */
export interface Sessions {
  /** In milliseconds, from the last use. */
  readonly lifetime: number
  find(id: string): Promise<SessionRecord | undefined>
  begin(session: NewSession): Promise<{ id: string; record: SessionRecord }>
  /** Lets its time run anew, if that began a while ago; undefined where it did not, or the session has just ended. */
  renew(id: string, record: SessionRecord): Promise<SessionRecord | undefined>
  end(id: string): Promise<void>
}

const MINUTE = 60_000

export function createSessions(kv: KeyValueStore, lifetime: number): Sessions {
  // Most requests only read.
  const pause = Math.min(MINUTE, lifetime / 4)
  return {
    lifetime,
    async find(id) {
      const kept = await kv.get(placeOf(id))
      return kept === undefined ? undefined : (JSON.parse(kept) as SessionRecord)
    },
    async begin(session) {
      const id = secret()
      const record = { ...session, csrfToken: secret(), renewedAt: Date.now() }
      await kv.set(placeOf(id), JSON.stringify(record), lifetime)
      return { id, record }
    },
    async renew(id, record) {
      if (Date.now() - record.renewedAt < pause) return undefined
      const renewed = { ...record, renewedAt: Date.now() }
      // A session that ends meanwhile must not come back.
      return (await kv.setIfPresent(placeOf(id), JSON.stringify(renewed), lifetime)) ? renewed : undefined
    },
    end: (id) => kv.delete(placeOf(id)),
  }
}

const secret = () => randomBytes(32).toString('base64url')

/** Who reads the store learns no id. */
const placeOf = (id: string) => `session:${createHash('sha256').update(id).digest('base64url')}`
