import type { KnownUser } from '../../entities/identity/session.sql.ts'
import type { Caller } from '../core/caller.ts'

/** Who calls in a session of somebody we know. */
export function callerOf({ id, username, name, email, role, hasKeys }: KnownUser): Caller {
  if (!hasKeys) return { type: 'registering', username, name, email }
  return { type: 'user', person: { id, username, name, email, role } }
}
