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

/** The session of a request. Without a handle it is not stored yet. */
export interface RequestSession extends Omit<SessionRecord, 'handle'> {
  handle?: string
  /** User agent of the browser at the start of the session; only written. */
  userAgent?: string | undefined
}

declare module 'fastify' {
  interface Session {
    record?: RequestSession | undefined
  }
}

/** Largest number of sessions of one person or registration; the least recently used ones end, so that nobody fills the table. */
const MAX_SESSIONS = 100

/** Creates the session store in the database. `lifetime` is in milliseconds after the last use. */
export function createSessionStore(
  sql: Sql,
  lifetime: number,
  credentials: Pick<CredentialWatch, 'announce'>,
): SessionStore {
  const computeOldestRenewal = () => Date.now() - lifetime

  async function find(handle: string): Promise<SessionRow | undefined> {
    const [row] = await sql(findSessions, [[handle]])
    return row && row.renewedAt > computeOldestRenewal() ? row : undefined
  }

  async function save(session: Session, record: RequestSession, handle: string): Promise<void> {
    const { saved, ended } = await saveSession(sql, record, handle)
    // A session that has ended meanwhile must not be stored again.
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

/** Adds a session, or moves a stored one to a new id. Returns the handles of sessions that ended by that. */
async function saveSession(
  sql: Sql,
  record: RequestSession,
  handle: string,
): Promise<{ saved: boolean; ended: string[] }> {
  const { subject, method, signedInAt, csrfToken, userAgent = null, locale = null } = record
  const renewedAt = new Date(record.renewedAt)
  const values = [handle, method, new Date(signedInAt), csrfToken, userAgent, locale]
  if ('registering' in subject)
    return toSaveResult(await sql(startRegistration, [...values, JSON.stringify(subject.registering), MAX_SESSIONS]))
  const { id, passwordChangedAt } = subject.user
  if (record.handle === undefined)
    return toSaveResult(await sql(startSession, [...values, id, MAX_SESSIONS, passwordChangedAt]))
  const [replaced] = await sql(replaceSession, [record.handle, handle, csrfToken, renewedAt, id])
  return { saved: replaced !== undefined, ended: [record.handle] }
}

const toSaveResult = ([session]: { ended: string[] }[]) => ({
  saved: session !== undefined,
  ended: session?.ended ?? [],
})

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

/** Hashes the session id, so that neither the table nor the handle reveals it. */
const hashId = (id: string) => createHash('sha256').update(id).digest('base64url')

type StoredSession = Parameters<Parameters<SessionStore['get']>[1]>[1]

const MAX_RECENT = 20_000

/** Milliseconds for which a session is cached, and so can be found after its end. */
const MAX_AGE_MS = 5000

/**
 * Wraps a store with a short-lived cache: after a restart every page authorizes all of its channels at once. Use it only for
 * requests that grant nothing by themselves and that change no session.
 */
export function createSessionCache(store: SessionStore): SessionStore {
  const cache = new LRUCache<string, Promise<StoredSession>>({ ...maxEntries(MAX_RECENT), ttl: MAX_AGE_MS })
  const find = (id: string) =>
    new Promise<StoredSession>((done, fail) => store.get(id, (error, found) => (error ? fail(error) : done(found))))
  const findAndCache = (id: string) => {
    const session = find(id)
    cache.set(id, session)
    session.then(
      (found) => found || cache.delete(id),
      () => cache.delete(id),
    )
    return session
  }
  return {
    ...store,
    get(id, callback) {
      ;(cache.get(id) ?? findAndCache(id)).then(
        (session) => callback(null, session && { ...session }),
        (error: unknown) => callback(error),
      )
    },
  }
}
