import { createHash } from 'node:crypto'
import { callbackify } from 'node:util'
import type { SessionStore } from '@fastify/session'
import type { Session } from 'fastify'
import { LRUCache } from 'lru-cache'
import {
  endSession,
  findSessions,
  replaceSession,
  type SessionRow,
  startRegistration,
  startSession,
} from '../../entities/identity/session.sql.ts'
import type { Sql } from '../../entities/sql/statement.ts'
import { maxEntries } from '../../routers/core/load/cache-size.ts'
import { Problem } from '../../routers/core/problems.ts'
import { type CredentialWatch, sessionCredential } from '../../routers/ports/credential-watch.ts'
import type { Locale } from '../../routers/ports/locales.ts'
import type { SessionRecord } from '../../routers/ports/session.ts'

/** What a request knows of its session. Without a handle it is not stored yet. */
export interface RequestSession extends Omit<SessionRecord, 'handle'> {
  handle?: string
  /** What the browser called itself when the session began; only written. */
  userAgent?: string | undefined
}

declare module 'fastify' {
  interface Session {
    record?: RequestSession | undefined
  }
}

/** Of one person, or of somebody who is registering: those not used for longest end, so that nobody fills the table. */
const MAX_SESSIONS = 100

/** The sessions of all replicas, as rows. `lifetime` is in milliseconds, from the last use. */
export function createSessionStore(
  sql: Sql,
  lifetime: number,
  credentials: Pick<CredentialWatch, 'announce'>,
): SessionStore {
  const since = () => Date.now() - lifetime

  async function find(handle: string): Promise<SessionRow | undefined> {
    const rows = await sql(findSessions, [[handle]])
    return rows.find((row) => row.handle === handle && row.renewedAt > since())
  }

  async function save(session: Session, record: RequestSession, handle: string): Promise<void> {
    const { saved, ended } = await write(sql, record, handle)
    // A session that has ended meanwhile must not come back.
    if (!saved) throw new Problem('signed_out')
    await credentials.announce(ended.map(sessionCredential))
    session.record = { ...record, handle }
  }

  return {
    get: callbackify(async (id: string) => {
      const row = await find(hashId(id)).catch((cause: unknown) => {
        throw new Problem('unavailable', { cause })
      })
      return row && { record: toRecord(row), cookie: { originalMaxAge: null } }
    }),
    set: callbackify(async (id: string, session: Session) => {
      if (session.record) await save(session, session.record, hashId(id))
    }),
    destroy: callbackify(async (id: string) => {
      await sql(endSession, [hashId(id)])
      await credentials.announce([sessionCredential(hashId(id))])
    }),
  }
}

/** Adds a session, or moves one that was stored under another id. Returns which ended by that. */
async function write(sql: Sql, record: RequestSession, handle: string): Promise<{ saved: boolean; ended: string[] }> {
  const { subject, method, signedInAt, csrfToken, userAgent = null, locale = null } = record
  const renewedAt = new Date(record.renewedAt)
  const values = [handle, method, new Date(signedInAt), csrfToken, userAgent, locale]
  if ('registering' in subject)
    return started(await sql(startRegistration, [...values, JSON.stringify(subject.registering), MAX_SESSIONS]))
  const { id, passwordChangedAt } = subject.user
  if (record.handle === undefined)
    return started(await sql(startSession, [...values, id, MAX_SESSIONS, passwordChangedAt]))
  const [moved] = await sql(replaceSession, [record.handle, handle, csrfToken, renewedAt, id])
  return { saved: moved !== undefined, ended: [record.handle] }
}

const started = ([session]: { ended: string[] }[]) => ({ saved: session !== undefined, ended: session?.ended ?? [] })

function toRecord({ subject, locale, ...row }: SessionRow): SessionRecord {
  const { handle, method, signedInAt, renewedAt, csrfToken, ...user } = row
  return {
    handle,
    subject: subject ? { registering: subject } : { user },
    method,
    signedInAt,
    renewedAt,
    csrfToken,
    locale: (locale as Locale | null) ?? undefined,
  }
}

/** Who reads the table, or sees the handle, learns no id. */
const hashId = (id: string) => createHash('sha256').update(id).digest('base64url')

type Found = Parameters<Parameters<SessionStore['get']>[1]>[1]

const MAX_RECENT = 20_000

/** How long a session that has ended may still be found, in milliseconds. */
const MAX_AGE_MS = 5000

/**
 * Finds sessions without asking for each again: after a restart every page asks for all of its channels at once. For requests
 * alone that grant nothing by themselves, and that change no session.
 */
export function recentSessions(store: SessionStore): SessionStore {
  const recent = new LRUCache<string, Promise<Found>>({ ...maxEntries(MAX_RECENT), ttl: MAX_AGE_MS })
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
