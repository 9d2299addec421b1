import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, type Database } from './database.ts'
import { type Cluster, startCluster } from './embedded-postgres.ts'

/** Writes a migration from the schema of the existing migrations to that of the entities; returns its file name, or undefined if none is needed. */
export async function generateMigration(signal: AbortSignal): Promise<string | undefined> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-migration-'))
  let cluster: Cluster | undefined
  let database: Database | undefined
  try {
    cluster = await startCluster(folder)
    signal.throwIfAborted()
    database = await connect({ url: cluster.url })
    await database.orm.migrator.up()
    signal.throwIfAborted()
    const { fileName } = await database.orm.migrator.create()
    return fileName || undefined
  } finally {
    await database?.close()
    await cluster?.stop('fast')
    await rm(folder, { recursive: true, force: true })
  }
}
