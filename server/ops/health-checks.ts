import { randomUUID } from 'node:crypto'
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { lockSync } from 'proper-lockfile'
import { z } from 'zod'
import { type Sql, statement } from '../../entities/sql/statement.ts'
import type { HealthChecks, HealthTimer } from '../../routers/ports/health.ts'
import type { KeyValueStore } from '../../routers/ports/key-value-store.ts'
import type { Blobs } from '../stores/blobs/blobs.ts'

const trivial = statement<{ one: number }>('trivial', 'select 1 as one')

export interface CheckedParts {
  sql: Sql
  kv: KeyValueStore
  blobs: Pick<Blobs, 'check'>
}

export function createHealthChecks({ sql, kv, blobs }: CheckedParts, dataDir: string): HealthChecks {
  const cacheDir = join(dataDir, 'cache')
  // A connection from the pool may be dead already: only an answer proves it.
  const database = async () => void (await sql(trivial))
  return {
    quick_database: database,
    database,
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
      await mkdir(cacheDir, { recursive: true })
      await writeFile(file, '')
      await rm(file)
      await blobs.check()
    },
  }
}

const marker = z.object({ failed: z.boolean(), quickChecks: z.number().int().min(0) })
type Marker = z.output<typeof marker>

const fresh: Marker = { failed: false, quickChecks: 0 }

/** Longer than anybody holds the lock; a step that still has none goes without. */
const MAX_TRIES = 20

/**
 * Keeps its state in a small file, so that it survives the failure of database and store. Deleting it resets the timer.
 * The file is read and written synchronously: a probe must not wait for a thread of the pool, which may be hashing
 * passwords or decoding pictures.
 */
export function createHealthTimer(deepEvery: number, folder = tmpdir()): HealthTimer {
  const file = join(folder, 'svc_health_timer_marker.json')
  let unwritten: Marker | undefined

  /** Where the disk takes nothing, this process still keeps the rule for itself. */
  function keep(state: Marker): void {
    unwritten = write(file, state) ? undefined : state
  }

  return {
    isDeepCheckDue: () =>
      locked(file, () => {
        const { failed, quickChecks } = unwritten ?? read(file)
        const due = failed || quickChecks + 1 >= deepEvery
        keep({ failed, quickChecks: due ? 0 : quickChecks + 1 })
        return due
      }),
    recordDeepCheck: (failed) => locked(file, () => keep({ failed, quickChecks: 0 })),
  }
}

/**
 * One step at a time among all processes that share the file. Rather than wait for long, a step goes without the lock:
 * a count that is lost does less harm than a probe that hangs.
 */
async function locked<Result>(file: string, step: () => Result): Promise<Result> {
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

/** A file that is absent, broken or half written counts as a fresh start. */
function read(file: string): Marker {
  try {
    return marker.parse(JSON.parse(readFileSync(file, 'utf8')))
  } catch {
    return fresh
  }
}

/** Renaming is atomic: a reader sees the file before or after. The folder is everybody's, so the draft must be new. */
function write(file: string, state: Marker): boolean {
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
