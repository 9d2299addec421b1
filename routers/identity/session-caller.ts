import type { KnownUser } from '../../entities/identity/user.sql.ts'
import type { Caller } from '../core/caller.ts'
import type { SessionSubject } from '../ports/session.ts'

/** Who calls in a session. */
export function toCaller(subject: SessionSubject): Caller {
  if ('user' in subject) return callerOfUser(subject.user)
  const { username, name, email } = subject.registering
  return { type: 'registering', username, name, email }
}

/** Without keys a person is still registering. */
export function callerOfUser({ id, username, name, email, role, groups, hasKeys }: KnownUser): Caller {
  if (!hasKeys) return { type: 'registering', username, name, email }
  return { type: 'user', person: { id, username, name, email, role, groups } }
}
