import { coalescedStatement, epochMs, isoTime, statement } from '../sql/statement.ts'
import type { LoginMethod, Registrant } from './session.ts'
import { type KnownUser, knownUserColumns } from './user.sql.ts'

/** The user's members are null if there is a subject. Times are in milliseconds. */
export interface SessionRow extends KnownUser {
  handle: string
  subject: Registrant | null
  method: LoginMethod
  signedInAt: number
  renewedAt: number
  csrfToken: string
  userAgent: string | null
  locale: string | null
}

/** Finds sessions, including expired ones. Values: hashes of ids. */
export const findSessions = coalescedStatement<SessionRow>(
  'find-sessions',
  `select s.hash as handle, s.subject, s.method, ${epochMs('s.signed_in_at')} as "signedInAt",
          ${epochMs('s.renewed_at')} as "renewedAt", s.csrf_token as "csrfToken", s.user_agent as "userAgent", s.locale,
          ${knownUserColumns}
     from sessions s left join users u on u.id = s.user_id
    where s.hash = any($1::text[])`,
  { idsAt: 0, idColumn: 'handle' },
)

export interface ListedSession {
  handle: string
  signedInAt: string
  renewedAt: string
  userAgent: string | null
}

/** Lists sessions, the last renewed first. Values: the user's id, and the earliest renewal of a valid session. */
export const listSessions = statement<ListedSession>(
  'list-sessions',
  `select hash as handle, ${isoTime('signed_in_at')} as "signedInAt", ${isoTime('renewed_at')} as "renewedAt",
          user_agent as "userAgent"
     from sessions where user_id = $1 and renewed_at > $2::timestamptz order by renewed_at desc, hash`,
)

interface StartedSession {
  hash: string
  /** Hashes of the sessions that ended because there were too many. */
  ended: string[]
}

/**
 * Builds a statement that starts a session, and ends the owner's least recently used ones beyond `$8`. Concurrent
 * starts do not count each other.
 */
const writeStartStatement = (owner: string, insertion: string) =>
  `with started as (${insertion} returning hash), ended as (
     delete from sessions where exists (select from started) and hash = any(array(
       select hash from sessions where ${owner} order by renewed_at desc, hash offset $8::int - 1 for update skip locked))
     returning hash)
   select hash, array(select hash from ended) as ended from started`

/**
 * Starts the session of a user. Returns no row if the user was removed or disabled, or their password changed since it
 * was verified; the lock waits for both. Values: hash, method, start, CSRF token, user agent, locale, the user's id, how
 * many sessions they may have, and when their password was last changed as the login saw it.
 */
export const startSession = statement<StartedSession>(
  'start-session',
  writeStartStatement(
    'user_id = $7',
    `insert into sessions (hash, method, signed_in_at, renewed_at, csrf_token, user_agent, locale, user_id)
     select $1, $2, $3::timestamptz, $3::timestamptz, $4, $5, $6, id
       from users where id = $7 and not disabled and password_changed_at is not distinct from $9::timestamptz for share`,
  ),
)

/**
 * Starts the session of a person who registers. Values: the first six of `startSession`, the subject as JSON, and the
 * number of sessions allowed.
 */
export const startRegistration = statement<StartedSession>(
  'start-registration',
  writeStartStatement(
    `subject->>'username' = $7::jsonb->>'username'`,
    `insert into sessions (hash, method, signed_in_at, renewed_at, csrf_token, user_agent, locale, subject)
     values ($1, $2, $3::timestamptz, $3::timestamptz, $4, $5, $6, $7::jsonb)`,
  ),
)

/** Values: the hash, and the time of the renewal. */
export const renewSession = statement<never>(
  'renew-session',
  'update sessions set renewed_at = greatest(renewed_at, $2::timestamptz) where hash = $1',
)

/**
 * Moves a session to a new id and another user. Returns no row if the session has ended or the user was removed or
 * disabled. Values: the hash of the old id, that of the new id, CSRF token, the time of the renewal, and the user's id.
 */
export const replaceSession = statement<{ hash: string }>(
  'replace-session',
  `with owner as (select id from users where id = $5 and not disabled for share)
   update sessions s set hash = $2, csrf_token = $3, renewed_at = $4::timestamptz, user_id = owner.id, subject = null
     from owner where s.hash = $1 returning s.hash`,
)

/** Values: the hash, and the locale. */
export const setSessionLocale = statement<never>(
  'set-session-locale',
  'update sessions set locale = $2 where hash = $1',
)

/** Values: the hash. */
export const endSession = statement<never>('end-session', 'delete from sessions where hash = $1')

/** Ends a person's own session; returns a row if it existed. Values: the user's id, and the hash. */
export const endOwnSession = statement<{ hash: string }>(
  'end-own-session',
  'delete from sessions where user_id = $1 and hash = $2 returning hash',
)

/**
 * Ends all sessions of a user; locks the user, so that such statements run one after another. Values: the user's id.
 */
export const endSessionsOfUser = statement<{ hash: string }>(
  'end-sessions-of',
  `with owner as (select id from users where id = $1 for no key update)
   delete from sessions s using owner where s.user_id = owner.id returning s.hash`,
)

/** Values: the user's id. */
export const listSessionHashes = statement<{ hash: string }>(
  'list-session-hashes',
  'select hash from sessions where user_id = $1',
)

/** Ends all other sessions. Values: the user's id, and the hash of the session that continues. */
export const endOtherSessionsOfUser = statement<{ hash: string }>(
  'end-other-sessions-of',
  'delete from sessions where user_id = $1 and hash <> $2 returning hash',
)

/**
 * Deletes expired sessions; returns a row for each. Values: the last renewal of an expired session, and the batch size.
 */
export const deleteExpiredSessions = statement<{ hash: string }>(
  'delete-expired-sessions',
  `delete from sessions where hash = any(array(
     select hash from sessions where renewed_at <= $1::timestamptz order by renewed_at limit $2 for update skip locked))
   returning hash`,
)

/** Locks a session, so that it cannot end before the transaction. Values: the hash of its id. */
export const lockSession = statement<{ handle: string }>(
  'lock-session',
  'select hash as handle from sessions where hash = $1 for update',
)
