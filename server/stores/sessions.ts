import { createHash, randomBytes } from 'node:crypto'
import type { KeyValueStore } from '../../routers/ports/key-value-store.ts'
import type { NewSession, SessionRecord } from '../../routers/ports/session.ts'

/** The session that a request names. */
export interface Named {
  id: string
  record: SessionRecord
}

/** Sessions in the key-value store, shared by all replicas where it is. */
export interface Sessions {
  /** In milliseconds, from the last use. */
  readonly lifetime: number
  find(id: string): Promise<SessionRecord | undefined>
  begin(session: NewSession & Kept): Promise<Named>
  /** Lets its time run anew, if that began a while ago; undefined where it did not, or the session has just ended. */
  renew(named: Named): Promise<SessionRecord | undefined>
  /** Its time goes on. */
  change(named: Named, kept: Kept): Promise<Named>
  end(named: Named): Promise<void>
}

/** What a session keeps of its browser. */
type Kept = Pick<SessionRecord, 'userAgent' | 'locale'>

const MINUTE = 60_000

/** Of one person: those not used for longest end, so that nobody fills the store by signing in. */
export const MAX_SESSIONS = 100

export function createSessions(kv: KeyValueStore, lifetime: number): Sessions {
  // Most requests only read.
  const pause = Math.min(MINUTE, lifetime / 4)
  const enrol = async ({ id, record }: Named) => {
    const owner = ownerOf(record)
    if (owner !== undefined) await kv.addMember(rollOf(owner), handleOf(id), lifetime)
  }
  return {
    lifetime,
    find: (id) => readSession(kv, handleOf(id)),
    async begin(session) {
      const named = { id: secret(), record: { ...session, csrfToken: secret(), renewedAt: Date.now() } }
      // No session without its line in the roll: one that its owner cannot see, they cannot end.
      await enrol(named)
      await endOldest(kv, ownerOf(named.record))
      await kv.set(placeOf(handleOf(named.id)), JSON.stringify(named.record), lifetime)
      return named
    },
    async renew({ id, record }) {
      if (Date.now() - record.renewedAt < pause) return undefined
      const renewed = { ...record, renewedAt: Date.now() }
      // A session that ends meanwhile must not come back.
      if (!(await kv.setIfPresent(placeOf(handleOf(id)), JSON.stringify(renewed), lifetime))) return undefined
      await enrol({ id, record: renewed })
      return renewed
    },
    async change({ id, record }, kept) {
      const changed = { ...record, ...kept }
      const left = Math.max(1, record.renewedAt + lifetime - Date.now())
      await kv.setIfPresent(placeOf(handleOf(id)), JSON.stringify(changed), left)
      return { id, record: changed }
    },
    async end({ id, record }) {
      const owner = ownerOf(record)
      await kv.delete(placeOf(handleOf(id)))
      if (owner !== undefined) await kv.removeMember(rollOf(owner), handleOf(id))
    },
  }
}

async function endOldest(kv: KeyValueStore, owner: number | undefined): Promise<void> {
  if (owner === undefined) return
  const handles = (await kv.members(rollOf(owner))).slice(MAX_SESSIONS)
  for (const handle of handles) {
    await kv.delete(placeOf(handle))
    await kv.removeMember(rollOf(owner), handle)
  }
}

export async function readSession(kv: KeyValueStore, handle: string): Promise<SessionRecord | undefined> {
  const kept = await kv.get(placeOf(handle))
  return kept === undefined ? undefined : (JSON.parse(kept) as SessionRecord)
}

/** Whose session it is; nobody's yet while they register. */
export const ownerOf = ({ standing }: SessionRecord) => ('userId' in standing ? standing.userId : undefined)

const secret = () => randomBytes(32).toString('base64url')

/** Who reads the store, or sees the handle, learns no id. */
export const handleOf = (id: string) => createHash('sha256').update(id).digest('base64url')

export const placeOf = (handle: string) => `session:${handle}`

/** Where the handles of somebody's sessions are. */
export const rollOf = (userId: number) => `sessions-of:${userId}`
