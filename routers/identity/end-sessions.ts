import type { EntityManager } from '@mikro-orm/postgresql'
import { listTokenIds } from '../../entities/identity/access-token.sql.ts'
import {
  endOtherSessionsOfUser,
  endSessionsOfUser,
  listSessionHashes,
  lockSession,
} from '../../entities/identity/session.sql.ts'
import { lockPerson } from '../../entities/identity/user.sql.ts'
import type { ChangeTransaction } from '../core/change-recorder.ts'
import type { Context } from '../core/context.ts'
import { Problem } from '../core/problems.ts'
import { runStatement } from '../core/run-statement.ts'
import { sessionCredential, tokenCredential } from '../ports/credential-watch.ts'

/**
 * Ends all sessions of a person. The transaction must have locked or changed the person's row, so that a concurrent
 * login waits for it.
 */
export async function endSessions({ em, changes }: ChangeTransaction, userId: number): Promise<number> {
  const endedSessions = await runStatement(em, endSessionsOfUser, [userId])
  changes.addEnded(endedSessions.map(({ hash }) => sessionCredential(hash)))
  return endedSessions.length
}

/** Ends all sessions of a person, and whatever else they have signed in. */
export async function signOutEverywhere(ctx: Context, { em, changes }: ChangeTransaction, userId: number) {
  await runStatement(em, lockPerson, [userId])
  await endSessions({ em, changes }, userId)
  await ctx.services.process.hooks.emitSerial('user-signed-out', { userId, em, changes })
}

/**
 * Ends requests under way of a person's sessions and tokens, before the person is deleted or disabled. The rows stay.
 */
export async function endAccess({ em, changes }: ChangeTransaction, userId: number): Promise<void> {
  const sessions = await runStatement(em, listSessionHashes, [userId])
  const tokens = await runStatement(em, listTokenIds, [userId])
  changes.addEnded(sessions.map(({ hash }) => sessionCredential(hash)))
  changes.addEnded(tokens.map(({ id }) => tokenCredential(id)))
}

/** Ends all sessions of a person but one. Throws if that one has already ended. */
export async function endOtherSessions(
  { em, changes }: ChangeTransaction,
  userId: number,
  handle: string,
): Promise<void> {
  // Two sessions that end each other take turns.
  await runStatement(em, lockPerson, [userId])
  await lockActiveSession(em, handle)
  const endedSessions = await runStatement(em, endOtherSessionsOfUser, [userId, handle])
  changes.addEnded(endedSessions.map(({ hash }) => sessionCredential(hash)))
}

/** Locks a session until the transaction ends. Throws if it has already ended. */
export async function lockActiveSession(em: EntityManager, handle: string): Promise<void> {
  const [session] = await runStatement(em, lockSession, [handle])
  if (!session) throw new Problem('signed_out')
}
