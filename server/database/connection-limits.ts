import { Socket } from 'node:net'
import type { PoolConfig } from 'pg'

/** How long PostgreSQL lets a connection hinder others, in milliseconds. */
export interface TimeLimits {
  /** After that, the transaction of a process that is frozen or cut off ends. */
  idleInTransaction?: number | undefined
  /** How long a request waits. A command, a migration and a task take as long as they take. */
  ofRequests?: { statement: number; lock: number }
}

/** More than statements of a start and of a task in the service take. */
const MIN_SILENCE_MS = 30_000
const KEEP_ALIVE_MS = 10_000

/** The options of connections with limits, some of which PostgreSQL keeps, and some this process. */
export function limitConnections({ idleInTransaction, ofRequests }: TimeLimits): PoolConfig {
  return {
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    idle_in_transaction_session_timeout: idleInTransaction,
    ...(ofRequests && {
      statement_timeout: ofRequests.statement,
      lock_timeout: ofRequests.lock,
      stream: () => openSocket(Math.max(MIN_SILENCE_MS, 2 * ofRequests.statement)),
    }),
  }
}

/** A socket that ends where the database is silent for longer than any statement may take, as the network is gone. */
function openSocket(maxSilence: number): Socket {
  const socket = new Socket()
  socket.setTimeout(maxSilence, () => socket.destroy(new Error('Connection terminated: the database is silent')))
  return socket
}
