import { randomUUID } from 'node:crypto'
import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { lock } from 'proper-lockfile'
import { z } from 'zod'
import type { HealthTimer } from '../routers/health.ts'

const marker = z.object({ failed: z.boolean(), quickChecks: z.number().int().min(0) })
type Marker = z.output<typeof marker>

const fresh: Marker = { failed: false, quickChecks: 0 }

/** Keeps its state in a small file, so that it survives the failure of database and store. Deleting it resets the timer. */
export function createHealthTimer(deepEvery: number, folder = tmpdir()): HealthTimer {
  const file = join(folder, 'svc_health_timer_marker.json')
  let turn: Promise<unknown> = Promise.resolve()
  let unwritten: Marker | undefined

  /** One step at a time, in this process and among all that share the file. */
  function inTurn<T>(step: () => Promise<T>): Promise<T> {
    const next = turn.then(async () => {
      const unlock = await takeLock(file)
      return step().finally(unlock)
    })
    turn = next.catch(() => {})
    return next
  }

  /** Where the disk takes nothing, this process still keeps the rule for itself. */
  async function keep(state: Marker): Promise<void> {
    unwritten = (await write(file, state)) ? undefined : state
  }

  return {
    deepIsDue: () =>
      inTurn(async () => {
        const { failed, quickChecks } = unwritten ?? (await read(file))
        const due = failed || quickChecks + 1 >= deepEvery
        await keep({ failed, quickChecks: due ? 0 : quickChecks + 1 })
        return due
      }),
    settle: (failed) => inTurn(() => keep({ failed, quickChecks: 0 })),
  }
}

/** Held for a moment. Rather than wait for long, a step goes without: a count that is lost does less harm than a probe that hangs. */
const takeLock = (file: string): Promise<() => Promise<void>> =>
  lock(file, {
    realpath: false,
    stale: 2000,
    retries: { retries: 20, factor: 1.2, minTimeout: 5, maxTimeout: 50, randomize: true },
    onCompromised: () => {},
  })
    .then((unlock) => () => unlock().catch(() => {}))
    .catch(() => async () => {})

/** A file that is absent, broken or half written counts as a fresh start. */
async function read(file: string): Promise<Marker> {
  try {
    return marker.parse(JSON.parse(await readFile(file, 'utf8')))
  } catch {
    return fresh
  }
}

/** Renaming is atomic: a reader sees the file before or after. The folder is everybody's, so the draft must be new. */
async function write(file: string, state: Marker): Promise<boolean> {
  const draft = `${file}.${randomUUID()}`
  try {
    await writeFile(draft, JSON.stringify(state), { flag: 'wx' })
    await rename(draft, file)
    return true
  } catch {
    await rm(draft, { force: true }).catch(() => {})
    return false
  }
}
