import { randomUUID } from 'node:crypto'
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { lockSync } from 'proper-lockfile'
import { z } from 'zod'
import { type Sql, statement } from '../../entities/sql/statement.ts'
import { makeFolder } from '../../routers/core/make-folder.ts'
import { type HealthChecks, HealthFailure, type HealthTimer } from '../../routers/ports/health.ts'
import type { KeyValueStore } from '../../routers/ports/key-value-store.ts'
import type { Blobs } from '../stores/blobs/blobs.ts'

const trivialStatement = statement<{ one: number }>('trivial', 'select 1 as one')

/** A standby, and a server that was told so, takes no writes. */
const checkWritable = statement<{ readsOnly: boolean }>(
  'check-writable',
  `select current_setting('transaction_read_only') = 'on' as "readsOnly"`,
)

export interface HealthCheckOptions {
  sql: Sql
  kv: KeyValueStore
  blobs: Pick<Blobs, 'check'>
}

export function createHealthChecks({ sql, kv, blobs }: HealthCheckOptions, dataDir: string): HealthChecks {
  const cacheDir = join(dataDir, 'cache')
  // A pooled connection may be broken, which only a statement shows.
  return {
    quick_database: async () => void (await sql(trivialStatement)),
    async database() {
      const [row] = await sql(checkWritable)
      if (row?.readsOnly) throw new HealthFailure('The database is read-only.')
    },
    async cache() {
      const [key, value] = [`health:${randomUUID()}`, randomUUID()]
      await kv.set(key, value, 10_000)
      const read = await kv.get(key)
      await kv.delete(key)
      if (read !== value) throw new Error('the value read is not the one written')
    },
    kvstore: () => kv.ping(),
    async storage() {
      const file = join(cacheDir, `health-${randomUUID()}`)
      await makeFolder(cacheDir)
      await writeFile(file, '')
      await rm(file)
      await blobs.check()
    },
  }
}

const marker = z.object({ failed: z.boolean(), quickChecks: z.number().int().min(0) })
type Marker = z.output<typeof marker>

const initialMarker: Marker = { failed: false, quickChecks: 0 }

/** Attempts to get the lock, which take longer than any holder needs; after them a step runs without it. */
const MAX_TRIES = 20

/**
 * Creates the timer of deep health checks. Its state is a small file, so that it survives failures of database and store;
 * deleting the file resets the timer. The file is read and written synchronously, because a probe must not wait for a thread of
 * libuv's pool, which may be hashing passwords or decoding pictures.
 */
export function createHealthTimer(deepEvery: number, folder = tmpdir()): HealthTimer {
  const file = join(folder, 'svc_health_timer_marker.json')
  let unwritten: Marker | undefined

  /** Saves the state; in memory if the disk cannot be written. */
  function save(state: Marker): void {
    unwritten = writeMarker(file, state) ? undefined : state
  }

  return {
    isDeepCheckDue: () =>
      withFileLock(file, () => {
        const { failed, quickChecks } = unwritten ?? readMarker(file)
        const isDue = failed || quickChecks + 1 >= deepEvery
        save({ failed, quickChecks: isDue ? 0 : quickChecks + 1 })
        return isDue
      }),
    recordDeepCheck: (failed) => withFileLock(file, () => save({ failed, quickChecks: 0 })),
  }
}

/**
 * Runs one step at a time among all processes that share the file. After a short wait a step runs without the lock, because a
 * lost count does less harm than a probe that hangs.
 */
async function withFileLock<Result>(file: string, step: () => Result): Promise<Result> {
  for (let tries = 1; tries <= MAX_TRIES; tries++) {
    const lock = takeLock(file)
    if (lock === 'impossible') break
    if (lock !== 'taken') {
      try {
        return step()
      } finally {
        lock.release()
      }
    }
    await pause(5 + Math.random() * 20)
  }
  return step()
}

function takeLock(file: string): { release: () => void } | 'taken' | 'impossible' {
  try {
    const unlock = lockSync(file, { realpath: false, stale: 2000, onCompromised: () => {} })
    return { release: () => ignoreErrors(unlock) }
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ELOCKED' ? 'taken' : 'impossible'
  }
}

function ignoreErrors(step: () => void): void {
  try {
    step()
  } catch {}
}

/** Reads the marker; a missing or invalid file counts as the initial state. */
function readMarker(file: string): Marker {
  try {
    return marker.parse(JSON.parse(readFileSync(file, 'utf8')))
  } catch {
    return initialMarker
  }
}

/** Writes the marker atomically by renaming. The folder is public, so the draft must be a new file. Returns whether it succeeded. */
function writeMarker(file: string, state: Marker): boolean {
  const draft = `${file}.${randomUUID()}`
  try {
    writeFileSync(draft, JSON.stringify(state), { flag: 'wx' })
    renameSync(draft, file)
    return true
  } catch {
    ignoreErrors(() => rmSync(draft, { force: true }))
    return false
  }
}
