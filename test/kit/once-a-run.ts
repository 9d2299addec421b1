import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { lock } from 'proper-lockfile'
import { inject } from 'vitest'

/** Returns what `make` makes, as JSON carries it: the first worker that asks makes it, for all of the run. */
export async function makeOnceARun<Value>(name: string, make: () => Promise<Value>): Promise<Value> {
  const file = join(inject('runFolder'), `${name}.json`)
  const unlock = await lock(file, { realpath: false, retries: { retries: 1200, minTimeout: 50, maxTimeout: 100 } })
  try {
    const made = await readFile(file, 'utf8').catch(() => undefined)
    if (made !== undefined) return JSON.parse(made) as Value
    const value = await make()
    await writeFile(file, JSON.stringify(value))
    return value
  } finally {
    await unlock()
  }
}
