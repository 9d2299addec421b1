import type { EntityManager } from '@mikro-orm/postgresql'
import {
  deleteConnectionsOfServers,
  deleteConnectionsOfUser,
  deleteUnfitConnections,
  type SealedConnection,
} from '../../../entities/catalogue/mcp-connection.sql.ts'
import type { Erasure } from '../../core/hooks.ts'
import { runStatement } from '../../core/run-statement.ts'
import type { JobQueue } from '../../ports/job-queue.ts'

/** Number of accounts that one job revokes. */
const BATCH_SIZE = 50

/**
 * Ends the accounts of people that no longer fit a server, because it has another address or other accounts; null stands
 * for all servers. Their tokens are revoked after the commit.
 */
export const endUnfitConnections = async (em: EntityManager, jobQueue: JobQueue, server: number | null) =>
  revokeLater(em, jobQueue, await runStatement(em, deleteUnfitConnections, [server]))

/** Ends the accounts at servers that are about to be deleted. */
export const endConnectionsOfServers = async (em: EntityManager, jobQueue: JobQueue, servers: readonly number[]) =>
  revokeLater(em, jobQueue, await runStatement(em, deleteConnectionsOfServers, [servers]))

/** Ends the accounts of a person who is being erased. If the erasure is refused, they stay. */
export async function endConnectionsOnErase({ em, userId, jobQueue, report }: Erasure): Promise<void> {
  const ended = await runStatement(em, deleteConnectionsOfUser, [userId, null])
  report['mcp_connections'] = { deleted: ended.length, kept: 0 }
  await revokeLater(em, jobQueue, ended)
}

/** Ends tokens at their servers after the commit, repeatedly if these cannot be reached. */
export async function revokeLater(
  em: EntityManager,
  jobQueue: JobQueue,
  ended: readonly SealedConnection[],
): Promise<void> {
  for (let at = 0; at < ended.length; at += BATCH_SIZE)
    await jobQueue.enqueue(em, 'revoke-accounts', { input: { connections: ended.slice(at, at + BATCH_SIZE) } })
}
