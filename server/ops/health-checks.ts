import { randomUUID } from 'node:crypto'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Sql, statement } from '../../entities/sql/statement.ts'
import type { HealthChecks } from '../../routers/ports/health.ts'
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
