import { randomBytes, randomUUID } from 'node:crypto'
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { lock } from 'proper-lockfile'
import { locks } from '../../entities/sql/locks.ts'
import { runningCluster, startCluster } from './embedded-postgres.ts'

/** An embedded database that can be used until `release`. */
export interface EmbeddedDatabase {
  url: string
  release(): Promise<void>
}

/** A command and a migration share the database of a running service; a service needs it for itself. A command makes none. */
export type ClusterUse = 'service' | 'command' | 'migration'

/** Callbacks and signals of a wait: who is told of it, and what ends it. */
interface Waiting {
  notify?: ((sentence: string) => void) | undefined
  signal?: AbortSignal | undefined
}

const LOCK_TIMEOUT_MS = 30_000

/**
 * Opens the embedded database in `dataDir`. One process at a time owns the cluster, starts it and stops it; a lock file
 * that is touched every second says who is alive, so that a killed owner is replaced.
 */
export async function openEmbedded(dataDir: string, use: ClusterUse, waiting: Waiting = {}): Promise<EmbeddedDatabase> {
  const folder = join(dataDir, 'postgres')
  await mkdir(folder, { recursive: true })
  const started = Date.now()
  for (let tries = 0; ; tries++) {
    const opened = await tryToOpen(dataDir, folder, use)
    if (opened) return opened
    if (tries === 0)
      waiting.notify?.(`Another process holds the data folder ${dataDir}. Waiting until it ends, up to 30 seconds.`)
    if (waiting.signal?.aborted) throw new Error(`Stopped while another process held the data folder ${dataDir}.`)
    if (Date.now() - started > LOCK_TIMEOUT_MS)
      throw new Error(`Another process holds the data folder ${dataDir}. Set DATA_DIR to another.`)
    await pause(100)
  }
}

async function tryToOpen(dataDir: string, folder: string, use: ClusterUse): Promise<EmbeddedDatabase | undefined> {
  const unlock = await takeLock(dataDir)
  if (unlock) return own(folder, unlock)
  return use === 'service' ? undefined : share(folder)
}

async function own(folder: string, unlock: () => Promise<void>): Promise<EmbeddedDatabase> {
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

/** Uses the cluster of another process, which waits for the release before it stops it; nothing where it stops already. */
async function share(folder: string): Promise<EmbeddedDatabase | undefined> {
  const url = await runningCluster(folder)
  const session = url && (await openSession(url).catch(() => undefined))
  if (!session) return undefined
  const held = await session
    .query('select pg_try_advisory_lock_shared($1) as held', [locks.useEmbeddedDatabase])
    .then(({ rows }) => rows[0]?.held === true)
    .catch(() => false)
  if (held) return { url, release: () => session.end() }
  await session.end()
  return undefined
}

/** Waits a while for those who share the cluster. The session stays open, so that nobody joins before it is stopped. */
async function waitForSharers(url: string): Promise<void> {
  const session = await openSession(url).catch(() => undefined)
  await session?.query(`set lock_timeout = '30s'`)
  await session?.query('select pg_advisory_lock($1)', [locks.useEmbeddedDatabase]).catch(() => {})
}

async function openSession(url: string): Promise<pg.Client> {
  const session = new pg.Client({ connectionString: url })
  // Stopping the cluster also ends this session, so its error is expected.
  session.on('error', () => {})
  await session.connect()
  return session
}

const takeLock = (dataDir: string): Promise<(() => Promise<void>) | undefined> =>
  lock(dataDir, {
    lockfilePath: join(dataDir, 'postgres.lock'),
    stale: 5000,
    update: 1000,
    // PostgreSQL's own lock file still keeps a second server out.
    onCompromised: () => {},
  }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ELOCKED') return undefined
    throw error
  })

/** The key that seals secrets where APP_KEY is not set: made once, kept readable for its owner only. */
export async function generatedKey(dataDir: string): Promise<string> {
  const file = join(dataDir, 'app.key')
  const known = await readFile(file, 'utf8').catch(() => undefined)
  if (known) return known.trim()
  await mkdir(dataDir, { recursive: true })
  const draft = `${file}.${randomUUID()}`
  await writeFile(draft, randomBytes(48).toString('base64'), { mode: 0o600 })
  // Linking is atomic and fails if the file exists, so two processes that start at once read the same key.
  await link(draft, file).catch(() => {})
  await rm(draft)
  return (await readFile(file, 'utf8')).trim()
}
