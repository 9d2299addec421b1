import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { lock } from 'proper-lockfile'
import { locks } from '../../entities/sql/locks.ts'
import { makeDataFolder } from '../config/data-folder.ts'
import { findRunningCluster, startCluster } from './embedded-postgres.ts'

/** An embedded database, which can be used until `release`. */
export interface EmbeddedDatabase {
  url: string
  release(): Promise<void>
}

/** The purpose of opening it: a command or migration shares the database of a running service; a service needs its own. A command creates none. */
export type ClusterUse = 'service' | 'command' | 'migration'

/** Options of waiting for another process. */
interface WaitOptions {
  /** Is called with a sentence when the wait begins. */
  notify?: ((sentence: string) => void) | undefined
  signal?: AbortSignal | undefined
}

const LOCK_TIMEOUT_MS = 30_000

/**
 * Opens the embedded database in `dataDir`. One process at a time owns the cluster, starts it and stops it. The owner touches
 * a lock file every second, so that a killed owner is noticed and replaced.
 */
export async function openEmbedded(
  dataDir: string,
  use: ClusterUse,
  waiting: WaitOptions = {},
): Promise<EmbeddedDatabase> {
  const folder = await makeDataFolder(dataDir, 'postgres')
  const startedAt = Date.now()
  for (let tries = 0; ; tries++) {
    const opened = await tryToOpen(dataDir, folder, use)
    if (opened) return opened
    if (tries === 0)
      waiting.notify?.(`Another process holds the data folder ${dataDir}. Waiting until it ends, up to 30 seconds.`)
    if (waiting.signal?.aborted)
      throw new Error(`The start was stopped while another process held the data folder ${dataDir}.`)
    if (Date.now() - startedAt > LOCK_TIMEOUT_MS)
      throw new Error(`Another process holds the data folder ${dataDir}. Set DATA_DIR to another.`)
    await pause(100)
  }
}

async function tryToOpen(dataDir: string, folder: string, use: ClusterUse): Promise<EmbeddedDatabase | undefined> {
  const unlock = await takeLock(dataDir)
  if (unlock) return startOwned(folder, unlock)
  return use === 'service' ? undefined : joinRunning(folder)
}

async function startOwned(folder: string, unlock: () => Promise<void>): Promise<EmbeddedDatabase> {
  try {
    const cluster = await startCluster(folder)
    const release = async () => {
      await waitForSharers(cluster.url)
      await cluster.stop('fast')
      await unlock()
    }
    return { url: cluster.url, release }
  } catch (error) {
    await unlock()
    throw error
  }
}

/** Joins the cluster of another process, which waits for the release before it stops. Returns undefined if it is stopping already. */
async function joinRunning(folder: string): Promise<EmbeddedDatabase | undefined> {
  const url = await findRunningCluster(folder)
  const session = url && (await openSession(url).catch(() => undefined))
  if (!session) return undefined
  const isLocked = await session
    .query('select pg_try_advisory_lock_shared($1) as "isLocked"', [locks.useEmbeddedDatabase])
    .then(({ rows }) => rows[0]?.isLocked === true)
    .catch(() => false)
  if (isLocked) return { url, release: () => session.end() }
  await session.end()
  return undefined
}

/** Waits up to 30 seconds for processes that share the cluster. The session keeps the lock, so that nobody joins before the stop. */
async function waitForSharers(url: string): Promise<void> {
  const session = await openSession(url).catch(() => undefined)
  await session?.query(`set lock_timeout = '30s'`)
  await session?.query('select pg_advisory_lock($1)', [locks.useEmbeddedDatabase]).catch(() => {})
}

async function openSession(url: string): Promise<pg.Client> {
  const session = new pg.Client({ connectionString: url })
  // Stopping the cluster also ends this session, so an error is expected.
  session.on('error', () => {})
  await session.connect()
  return session
}

const takeLock = (dataDir: string): Promise<(() => Promise<void>) | undefined> =>
  lock(dataDir, {
    lockfilePath: join(dataDir, 'postgres.lock'),
    stale: 5000,
    update: 1000,
    // If the lock is lost, PostgreSQL's own lock file still prevents a second server.
    onCompromised: () => {},
  }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ELOCKED') return undefined
    throw error
  })
