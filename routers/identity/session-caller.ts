import type { KnownUser } from '../../entities/identity/user.sql.ts'
import type { Caller } from '../core/caller.ts'
import type { SessionSubject } from '../ports/session.ts'

/** Returns the caller of a session. */
export function toCaller(subject: SessionSubject): Caller {
  if ('user' in subject) return toUserCaller(subject.user)
  const { username, name, email } = subject.registering
  return { type: 'registering', username, name, email }
}

/** Returns the caller for a user; a user without keys is still registering. */
export function toUserCaller({ id, username, name, email, role, groups, hasKeys }: KnownUser): Caller {
  if (!hasKeys) return { type: 'registering', username, name, email }
  return { type: 'user', person: { id, username, name, email, role, groups } }
}
