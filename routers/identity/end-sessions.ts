import type { EntityManager } from '@mikro-orm/postgresql'
import { listTokenIds } from '../../entities/identity/access-token.sql.ts'
import {
  endOtherSessionsOf,
  endSessionsOf,
  listSessionHashes,
  lockSession,
} from '../../entities/identity/session.sql.ts'
import { lockPerson } from '../../entities/identity/user.sql.ts'
import type { ChangeRecorder } from '../core/change-recorder.ts'
import { Problem } from '../core/problems.ts'
import { runStatement } from '../core/run-statement.ts'
import { sessionCredential, tokenCredential } from '../ports/credential-watch.ts'

/** A transaction, and who takes note of what it ends. */
interface Ending {
  em: EntityManager
  changes: ChangeRecorder
}

/** Ends all sessions of a person in a transaction that has locked or changed their row: a login meanwhile waits for its end. */
export async function endSessions({ em, changes }: Ending, userId: number): Promise<number> {
  const ended = await runStatement(em, endSessionsOf, [userId])
  changes.addEnded(ended.map(({ hash }) => sessionCredential(hash)))
  return ended.length
}

/** Ends what the sessions and tokens of a person have under way, who is about to go or to be kept out. The rows stay. */
export async function endAccess({ em, changes }: Ending, userId: number): Promise<void> {
  const sessions = await runStatement(em, listSessionHashes, [userId])
  const tokens = await runStatement(em, listTokenIds, [userId])
  changes.addEnded(sessions.map(({ hash }) => sessionCredential(hash)))
  changes.addEnded(tokens.map(({ id }) => tokenCredential(id)))
}

/** Ends all sessions of a person but one; throws where that one has ended meanwhile. */
export async function endOtherSessions({ em, changes }: Ending, userId: number, handle: string): Promise<void> {
  // Two sessions that end each other take turns.
  await runStatement(em, lockPerson, [userId])
  await holdSession(em, handle)
  const ended = await runStatement(em, endOtherSessionsOf, [userId, handle])
  changes.addEnded(ended.map(({ hash }) => sessionCredential(hash)))
}

/** Keeps a session from ending before the transaction does; throws where it has ended already. */
export async function holdSession(em: EntityManager, handle: string): Promise<void> {
  const [held] = await runStatement(em, lockSession, [handle])
  if (!held) throw new Problem('signed_out')
}
