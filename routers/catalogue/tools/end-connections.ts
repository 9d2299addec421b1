import type { EntityManager } from '@mikro-orm/postgresql'
import {
  deleteConnectionsOfServers,
  deleteUnfitConnections,
  type SealedConnection,
} from '../../../entities/catalogue/mcp-connection.sql.ts'
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

async function revokeLater(em: EntityManager, jobQueue: JobQueue, ended: readonly SealedConnection[]): Promise<void> {
  for (let at = 0; at < ended.length; at += BATCH_SIZE)
    await jobQueue.enqueue(em, 'revoke-accounts', { input: { connections: ended.slice(at, at + BATCH_SIZE) } })
}
