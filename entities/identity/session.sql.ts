import { raw } from '@mikro-orm/core'
import { coalescedStatement, statement } from '../sql/statement.ts'
import type { Role } from './user.ts'

export interface SessionUser {
  id: number
  username: string
  name: string
  email: string
  role: Role
}

export interface KnownUser extends SessionUser {
  epoch: number
  /** Whether the person has made their keys; until then they are registering. */
  hasKeys: boolean
}

const knownUser = `select id, username, name, email, role, session_epoch as epoch, public_key is not null as "hasKeys"
     from users`

/** Values: the ids of users. A session of an earlier epoch was ended. */
export const findSessionUsers = coalescedStatement<KnownUser>(
  'find-session-users',
  `${knownUser} where id = any($1::int[])`,
  { idsAt: 0 },
)

/** Values: a username. */
export const findKnownUser = statement<KnownUser>('find-known-user', `${knownUser} where username = $1`)

/** Values: the user's id. Ends all their sessions, on every replica; the epoch is that of the next one. */
export const endSessions = statement<{ epoch: number }>(
  'end-sessions',
  'update users set session_epoch = session_epoch + 1 where id = $1 returning session_epoch as epoch',
)

/** The epoch of sessions in an update that ends all there are. */
export const nextEpoch = () => raw<number>('session_epoch + 1')

/** The epoch of sessions in an update that sets the role: another one where the role is another. */
export const epochWithRole = (role: Role) => raw<number>('session_epoch + (role <> ?)::int', [role])
