import { createReadStream, existsSync } from 'node:fs'
import { copyFile, readdir, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { Migrator } from '@mikro-orm/migrations'
import type pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { beginEpoch } from '../../entities/events/change-log.sql.ts'
import { AI_USER_ID } from '../../entities/identity/user.ts'
import { makeFolder } from '../../routers/core/make-folder.ts'
import type { BackupSummary } from '../../routers/ports/backups.ts'
import { makeDataFolder } from '../config/data-folder.ts'
import type { Env } from '../config/settings.ts'
import { connect, type Database } from '../database/database.ts'
import { openEmbedded } from '../database/embedded-database.ts'
import { type Blobs, isHealthCheck } from '../stores/blobs/blobs.ts'
import { openBlobs } from '../stores/blobs/open-blobs.ts'
import { createVault, readOrCreateAppKey } from '../stores/vault.ts'
import { filePath, listStateFiles, type Manifest, summarize, verifyBackup } from './archive.ts'
import { COPY_TEXT_FORMAT, quoteIdentifier } from './create.ts'

/**
 * Restores a backup into an empty installation whose keys are in place. It verifies the whole backup first, then copies the
 * files, then all rows in one transaction. If it fails or the signal is aborted, it throws an error and has written nothing
 * but an empty schema.
 */
export async function restoreBackup(folder: string, env: Env, signal: AbortSignal): Promise<BackupSummary> {
  const content = await verifyBackup(folder, { env, vault: await openVault(env) }, signal)
  await assertNoState(env, content)
  await makeDataFolder(env.DATA_DIR)
  const embedded = env.DATABASE_URL ? undefined : await openEmbedded(env.DATA_DIR, 'service', { signal })
  try {
    const database = await connect({ url: env.DATABASE_DIRECT_URL ?? env.DATABASE_URL ?? embedded?.url ?? '' })
    const blobs = await openBlobs(env)
    try {
      await assertEmpty(database.pool)
      await assertNoFiles(blobs, content)
      await migrateToSchema(database, content.schema)
      try {
        await copyFiles(blobs, folder, content, signal)
        await copyState(env, folder, content)
        await fillTables(database.pool, folder, content, signal)
      } catch (error) {
        await removeFiles(blobs, content)
        await removeState(env, content)
        throw error
      }
      return summarize(content)
    } finally {
      await blobs.close()
      await database.close()
    }
  } finally {
    await embedded?.release()
  }
}

/** Opens the vault with the existing keys of the installation, which are not part of the backup. A newly generated key would open nothing. */
async function openVault({ APP_KEY, APP_PREVIOUS_KEYS, DATA_DIR }: Env) {
  if (APP_KEY === undefined && !existsSync(join(DATA_DIR, 'app.key')))
    throw new Error(
      `There is neither APP_KEY nor ${join(DATA_DIR, 'app.key')}: put the keys of the installation in place first.`,
    )
  return createVault(APP_KEY ?? (await readOrCreateAppKey(DATA_DIR)), APP_PREVIOUS_KEYS)
}

/** Throws if the database has people; the tables of a service that nobody has used count as empty. */
async function assertEmpty(pool: pg.Pool): Promise<void> {
  const { rows: tables } = await pool.query(`select to_regclass('public.users') is not null as "hasUsers"`)
  if (!tables[0].hasUsers) return
  const { rows } = await pool.query('select exists (select from users where id <> $1) as "hasPeople"', [AI_USER_ID])
  if (rows[0].hasPeople) throw new Error('The database has people already: a backup is restored into an empty one.')
}

async function assertNoState(env: Env, content: Manifest): Promise<void> {
  for (const { root } of listStateParts(env, content))
    if (await hasContent(root))
      throw new Error(`${root} is there already: a backup is restored where there is nothing.`)
}

async function hasContent(path: string): Promise<boolean> {
  const stats = await stat(path).catch(() => undefined)
  return stats?.isDirectory() ? (await readdir(path)).length > 0 : stats !== undefined
}

/** Throws if a file is missing in the bucket, or exists already in the folder. */
async function assertNoFiles(blobs: Blobs, content: Manifest): Promise<void> {
  const stored = new Set<string>()
  for await (const { key } of blobs.list('')) stored.add(key)
  // Backups of earlier versions may list the blob of a health check.
  const files = content.files.filter(({ key }) => !isHealthCheck(key))
  const missing = files.filter(({ key, sha256 }) => sha256 === null && !stored.has(key))
  if (missing.length > 0)
    throw new Error(`${missing.length} of ${files.length} files are not in the bucket, ${missing[0]?.key} among them.`)
  const existing = files.find(({ key, sha256 }) => sha256 !== null && stored.has(key))
  if (existing)
    throw new Error(`The file ${existing.key} is there already: a backup is restored where there is nothing.`)
}

/** Migrates the schema to the version of the backup; later migrations are applied to its rows at the start of the service. */
async function migrateToSchema({ orm }: Database, schema: string): Promise<void> {
  const migrator = new Migrator(orm.em)
  const pending = (await migrator.getPending()).map(({ name }) => name)
  const executed = (await migrator.getExecuted()).map(({ name }) => name)
  if (executed.at(-1) === schema) return
  if (executed.includes(schema))
    throw new Error('A newer version was started on this database already: restore into one that has no tables.')
  if (!pending.includes(schema))
    throw new Error(`The backup has the schema of a newer version (${schema}): install that version or a later one.`)
  await migrator.up({ to: schema })
}

/** Copies the files of the backup to the storage. */
async function copyFiles(blobs: Blobs, folder: string, { files }: Manifest, signal: AbortSignal): Promise<void> {
  for (const { key, sha256 } of files) {
    signal.throwIfAborted()
    if (sha256 === null) continue
    await blobs.put(key, createReadStream(join(folder, filePath(key))))
  }
}

/** Removes the copied files after a failure, so that the restore can be retried; none of them existed before. */
async function removeFiles(blobs: Blobs, { files }: Manifest): Promise<void> {
  for (const { key, sha256 } of files) if (sha256 !== null) await blobs.remove(key)
}

const listForeignKeys = `select conrelid::regclass::text as table, quote_ident(conname) as name, pg_get_constraintdef(oid) as definition
    from pg_constraint where contype = 'f' and connamespace = 'public'::regnamespace and conparentid = 0`

/** Fills all tables in one transaction. Foreign keys are dropped before and checked when they are added again; triggers are disabled. */
async function fillTables(pool: pg.Pool, folder: string, { tables, sequences }: Manifest, signal: AbortSignal) {
  const client = await pool.connect()
  try {
    await client.query('begin')
    await client.query(COPY_TEXT_FORMAT)
    const { rows: references } = await client.query<Record<'table' | 'name' | 'definition', string>>(listForeignKeys)
    for (const { table, name } of references) await client.query(`alter table ${table} drop constraint ${name}`)
    for (const { name } of tables) await client.query(`alter table ${quoteIdentifier(name)} disable trigger user`)
    await client.query(`truncate ${tables.map(({ name }) => quoteIdentifier(name)).join(', ')}`)
    for (const each of tables) await fillTable(client, folder, each, signal)
    for (const { name } of tables) await client.query(`alter table ${quoteIdentifier(name)} enable trigger user`)
    for (const { table, name, definition } of references)
      await client.query(`alter table ${table} add constraint ${name} ${definition}`)
    for (const { name, value } of sequences)
      await client.query('select setval($1::regclass, $2)', [quoteIdentifier(name), value])
    await client.query(beginEpoch.text)
    signal.throwIfAborted()
    await client.query('commit')
  } finally {
    client.release(true)
  }
}

async function fillTable(
  client: pg.PoolClient,
  folder: string,
  { name, columns, path, rows }: Manifest['tables'][number],
  signal: AbortSignal,
) {
  const target = client.query(
    copyFrom(`copy ${quoteIdentifier(name)} (${columns.map(quoteIdentifier).join(', ')}) from stdin`),
  )
  await pipeline(createReadStream(join(folder, path)), createGunzip(), target, { signal })
  if (target.rowCount !== rows)
    throw new Error(`${path} of the backup holds ${target.rowCount} rows, not the ${rows} that were written.`)
}

async function copyState(env: Env, folder: string, content: Manifest): Promise<void> {
  for (const { source, root, below } of listStateParts(env, content)) {
    const target = join(root, below)
    await makeFolder(dirname(target))
    await copyFile(join(folder, source), target)
  }
}

/** Removes the copied accounts and texts after a failure; there were none before. */
async function removeState(env: Env, content: Manifest): Promise<void> {
  for (const { root, below } of listStateParts(env, content)) {
    const [top = ''] = below.split('/')
    await rm(join(root, top), { recursive: true, force: true })
  }
}

/** Lists the accounts and texts of a backup with the file or folder in which they belong, and the path below it. */
const listStateParts = (env: Env, { state }: Manifest) =>
  listStateFiles(env).flatMap(({ name, path: root }) => {
    const prefix = join('state', name)
    const parts = state.filter(({ path }) => path === prefix || path.startsWith(`${prefix}/`))
    return parts.map(({ path }) => ({ source: path, root, below: path.slice(prefix.length + 1) }))
  })
