import { readFile, rename, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import type { HealthTimer } from '../routers/health.ts'

const marker = z.object({ failed: z.boolean(), quickChecks: z.number().int().min(0) })
type Marker = z.output<typeof marker>

const fresh: Marker = { failed: false, quickChecks: 0 }

/** Keeps its state in a small file, so that it survives the failure of database and store. Deleting it resets the timer. */
export function createHealthTimer(deepEvery: number, folder = tmpdir()): HealthTimer {
  const file = join(folder, 'svc_health_timer_marker.json')
  let turn: Promise<unknown> = Promise.resolve()
  const inTurn = <T>(step: () => Promise<T>): Promise<T> => {
    const next = turn.then(step)
    turn = next.catch(() => {})
    return next
  }
  return {
    deepIsDue: () =>
      inTurn(async () => {
        const { failed, quickChecks } = await read(file)
        const due = failed || quickChecks + 1 >= deepEvery
        await write(file, { failed, quickChecks: due ? 0 : quickChecks + 1 })
        return due
      }),
    settle: (failed) => inTurn(() => write(file, { failed, quickChecks: 0 })),
  }
}

/** A file that is absent, broken or half written counts as a fresh start. */
async function read(file: string): Promise<Marker> {
  try {
    return marker.parse(JSON.parse(await readFile(file, 'utf8')))
  } catch {
    return fresh
  }
}

/** Renaming is atomic: a reader sees the file before or after. A disk that takes nothing must not fail the check itself. */
async function write(file: string, state: Marker): Promise<void> {
  const draft = `${file}.${process.pid}`
  await writeFile(draft, JSON.stringify(state))
    .then(() => rename(draft, file))
    .catch(() => {})
}
