import type { EntityManager } from '@mikro-orm/postgresql'
import { Session } from '../../entities/identity/session.ts'
import { lockPerson } from '../../entities/identity/user.sql.ts'
import { Problem } from '../core/problems.ts'

/** Ends all sessions of a person in a transaction that has locked or changed their row: a login meanwhile waits for its end. */
export async function endSessions(em: EntityManager, userId: number): Promise<void> {
  await em.nativeDelete(Session, { user: userId })
}

/** Ends all sessions of a person but one; throws where that one has ended meanwhile. */
export async function endOtherSessions(em: EntityManager, userId: number, handle: string): Promise<void> {
  // Two sessions that end each other take turns.
  await em.execute(lockPerson, [userId])
  await holdSession(em, handle)
  await em.nativeDelete(Session, { user: userId, hash: { $ne: handle } })
}

/** Keeps a session from ending before the transaction does; throws where it has ended already. */
export async function holdSession(em: EntityManager, handle: string): Promise<void> {
  const [held] = await em.execute('select 1 from sessions where hash = ? for update', [handle])
  if (!held) throw new Problem('signed_out')
}
