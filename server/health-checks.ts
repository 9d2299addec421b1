import { randomUUID } from 'node:crypto'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { statement } from '../entities/sql.ts'
import type { HealthChecks } from '../routers/health.ts'
import type { KeyValueStore } from '../routers/key-value-store.ts'
import type { Database } from './database.ts'

const trivial = statement<{ one: number }>('trivial', 'select 1 as one')

/** Longer than this, and a part counts as not answering: a probe must never hang. */
const PATIENCE = 5000

export function createHealthChecks({ sql, pool }: Database, kv: KeyValueStore, dataDir: string): HealthChecks {
  const cacheDir = join(dataDir, 'cache')
  const checks: HealthChecks = {
    async quick_database() {
      ;(await pool.connect()).release()
    },
    async database() {
      await sql(trivial)
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
      await mkdir(cacheDir, { recursive: true })
      await writeFile(file, '')
      await rm(file)
    },
  }
  return Object.fromEntries(
    Object.entries(checks).map(([name, check]) => [name, () => inTime(check())]),
  ) as HealthChecks
}

function inTime(check: Promise<void>): Promise<void> {
  const late = new Promise<never>((_, fail) => setTimeout(() => fail(new Error('no answer in time')), PATIENCE).unref())
  return Promise.race([check, late])
}
