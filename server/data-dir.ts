import { randomBytes } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { lock } from 'proper-lockfile'
import { runningCluster, startCluster } from './embedded-postgres.ts'

/** An embedded database that can be used until `release`. */
export interface EmbeddedDatabase {
  url: string
  release(): Promise<void>
}

/** A command shares the database of a running service; a service needs it for itself. */
export type Use = 'service' | 'command'

const PATIENCE = 15_000

/**
 * Opens the embedded database in `dataDir`. One process at a time owns the cluster, starts it and stops it; a lock file
 * that is touched every second says who is alive, so that a killed owner is replaced.
 */
export async function openEmbedded(dataDir: string, use: Use): Promise<EmbeddedDatabase> {
  const folder = join(dataDir, 'postgres')
  await mkdir(folder, { recursive: true })
  const deadline = Date.now() + PATIENCE
  for (;;) {
    const unlock = await takeLock(dataDir)
    if (unlock) return own(folder, unlock, use)
    const url = use === 'command' && (await runningCluster(folder))
    if (url) return { url, release: async () => {} }
    if (Date.now() > deadline)
      throw new Error(`Another process holds the data folder ${dataDir}. Set DATA_DIR to another.`)
    await pause(100)
  }
}

async function own(folder: string, unlock: () => Promise<void>, use: Use): Promise<EmbeddedDatabase> {
  try {
    const cluster = await startCluster(folder)
    const release = async () => {
      await cluster.stop(use === 'command' ? 'smart' : 'fast')
      await unlock()
    }
    return { url: cluster.url, release }
  } catch (error) {
    await unlock()
    throw error
  }
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
  await mkdir(dataDir, { recursive: true })
  await writeFile(file, randomBytes(48).toString('base64'), { mode: 0o600, flag: 'wx' }).catch(() => {})
  return (await readFile(file, 'utf8')).trim()
}
