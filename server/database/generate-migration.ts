import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from './database.ts'
import { startCluster } from './embedded-postgres.ts'

/** Writes a migration from the schema of the existing migrations to that of the entities; returns its file name, or undefined if none is needed. */
export async function generateMigration(): Promise<string | undefined> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-migration-'))
  const cluster = await startCluster(folder)
  const database = await connect({ url: cluster.url })
  try {
    await database.orm.migrator.up()
    const { fileName } = await database.orm.migrator.create()
    return fileName || undefined
  } finally {
    await database.close()
    await cluster.stop('fast')
    await rm(folder, { recursive: true, force: true })
  }
}
