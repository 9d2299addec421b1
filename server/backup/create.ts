import { createReadStream, createWriteStream, rmSync } from 'node:fs'
import { mkdir, mkdtemp, open, readdir, rename, rm, rmdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import type pg from 'pg'
import { to as copyTo } from 'pg-copy-streams'
import { makeFolder } from '../../routers/core/make-folder.ts'
import { Problem } from '../../routers/core/problems.ts'
import type { BackupSummary } from '../../routers/ports/backups.ts'
import { DRAFTS, EXPORTS } from '../../routers/ports/files/storage.ts'
import type { Env } from '../config/settings.ts'
import { BlobNotFound, type Blobs, isHealthCheck } from '../stores/blobs/blobs.ts'
import {
  DigestMeter,
  filePath,
  listStateFiles,
  type Manifest,
  type Part,
  type SealingKeys,
  summarize,
  writeManifest,
} from './archive.ts'

export interface BackupParts extends SealingKeys {
  pool: pg.Pool
  blobs: Blobs
  version: string
}

/**
 * Creates a backup: copies the stored files, then a snapshot of the database, then the files that were added meanwhile. Files
 * are copied first, too, so that a file that is deleted meanwhile is there for a row of the snapshot. A failed backup is removed.
 */
export const createBackup = (parts: BackupParts, folder: string): Promise<BackupSummary> =>
  writeBackup(parts, folder).catch((error: unknown) => {
    throw toFolderProblem(error, folder) ?? error
  })

const reasons: Partial<Record<string, (folder: string) => string>> = {
  ENOSPC: (folder) => `There is not enough space for a backup in ${folder}. Nothing of it was kept.`,
  EDQUOT: (folder) => `The disk quota does not allow a backup in ${folder}. Nothing of it was kept.`,
  EROFS: (folder) => `${folder} is on a disk that can only be read.`,
  EACCES: (folder) => `This process must not write to ${folder}.`,
  EPERM: (folder) => `This process must not write to ${folder}.`,
  ENOTDIR: (folder) => `${folder} lies below a file, or is one: a backup needs a folder.`,
  ENOENT: (folder) => `${folder} cannot be made there.`,
}

/** Returns the problem of a folder that takes no backup. Errors of the files that are copied are no such problem. */
export function toFolderProblem(error: unknown, folder: string): Problem | undefined {
  const { code = '', path } = error as NodeJS.ErrnoException
  const isOfFolder = path === undefined || path.startsWith(folder) || folder.startsWith(path)
  const describe = isOfFolder ? reasons[code] : undefined
  return describe && new Problem('folder_unusable', { detail: describe(folder), cause: error })
}

async function writeBackup(parts: BackupParts, folder: string): Promise<BackupSummary> {
  await assertEmptyFolder(folder)
  await makeFolder(dirname(folder))
  const draft = await mkdtemp(`${folder}.draft-`)
  // An interrupted command exits without running the code below, so the draft is also removed at exit.
  const removeDraft = () => rmSync(draft, { recursive: true, force: true })
  process.once('exit', removeDraft)
  try {
    const files = new Map<string, Manifest['files'][number]>()
    await copyFiles(parts, draft, files)
    const database = await copyDatabase(parts.pool, draft)
    await copyFiles(parts, draft, files)
    const state = await copyState(parts.env, draft)
    const content = { format: 1 as const, version: parts.version, ...database, files: [...files.values()], state }
    await writeManifest(draft, content, parts)
    // Fails if the folder has content by now, such as another backup.
    await rmdir(folder).catch(ignoreAbsent)
    await rename(draft, folder)
    await syncFolder(dirname(folder))
    return summarize(content)
  } catch (error) {
    await rm(draft, { recursive: true, force: true })
    throw error
  } finally {
    process.off('exit', removeDraft)
  }
}

async function assertEmptyFolder(folder: string): Promise<void> {
  const found = await readdir(folder).catch(ignoreAbsent)
  if (!found?.length) return
  throw new Problem('folder_unusable', { detail: `${folder} is not empty: a backup needs a folder of its own.` })
}

function ignoreAbsent(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}

/** Flushes a folder to the disk, so that its entries survive a loss of power. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path)
  await folder.sync().finally(() => folder.close())
}

/**
 * Lists the tables by name. Partitioned tables are left out, because they are logs that clients read anew, and so is the table
 * of personal data exports, whose archives are in no backup.
 */
const listTables = `select c.relname as name, array_agg(a.attname::text order by a.attnum) as columns
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
   where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and not c.relispartition
     and c.relname not in ('mikro_orm_migrations', 'person_exports')
   group by c.relname order by c.relname`

const listSequences = `select sequencename as name, last_value::text as value from pg_sequences
   where schemaname = 'public' and last_value is not null order by sequencename`

const describeDatabase = `select to_char(now() at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "createdAt",
    current_setting('server_version') as postgres,
    (select name from mikro_orm_migrations order by id desc limit 1) as schema`

/** Settings that make the text format of COPY independent of the server. */
export const COPY_TEXT_FORMAT = `set local datestyle = 'ISO'; set local intervalstyle = 'iso_8601'; set local timezone = 'UTC'`

async function copyDatabase(pool: pg.Pool, folder: string) {
  const client = await pool.connect()
  try {
    await client.query('begin isolation level repeatable read read only')
    await client.query(COPY_TEXT_FORMAT)
    const { rows: descriptions } =
      await client.query<Pick<Manifest, 'createdAt' | 'postgres' | 'schema'>>(describeDatabase)
    const { rows: tableColumns } = await client.query<{ name: string; columns: string[] }>(listTables)
    await mkdir(join(folder, 'tables'), { mode: 0o700 })
    const tables: Manifest['tables'] = []
    for (const { name, columns } of tableColumns) tables.push(await copyTable(client, folder, name, columns))
    const { rows: sequences } = await client.query<Manifest['sequences'][number]>(listSequences)
    await client.query('commit')
    return { ...(descriptions[0] as (typeof descriptions)[number]), tables, sequences }
  } finally {
    // After a failure the transaction is still open, so the connection is not reused.
    client.release(true)
  }
}

async function copyTable(client: pg.PoolClient, folder: string, name: string, columns: string[]) {
  const source = client.query(
    copyTo(`copy (select ${columns.map(quoteIdentifier).join(', ')} from ${quoteIdentifier(name)}) to stdout`),
  )
  const path = `tables/${name}.copy.gz`
  const written = await writePart(folder, path, source.pipe(createGzip()), source)
  return { ...written, name, columns, rows: source.rowCount ?? 0 }
}

/** Quotes an identifier for SQL. */
export const quoteIdentifier = (name: string) => `"${name.replaceAll('"', '""')}"`

/** Writes a part of the backup and returns its digest. An error of `source`, which feeds the stream, fails the write, too. */
async function writePart(folder: string, path: string, content: Readable, source?: Readable): Promise<Part> {
  const target = join(folder, path)
  await makeFolder(dirname(target), 0o700)
  source?.once('error', (error) => content.destroy(error))
  const measure = new DigestMeter()
  await pipeline(content, measure, createWriteStream(target, { mode: 0o600, flush: true }))
  return { path, bytes: measure.bytes, sha256: measure.sha256 }
}

/** Copies files that are not copied yet. Files in a bucket are only listed: the bucket keeps their versions. */
async function copyFiles({ blobs, env }: BackupParts, folder: string, copied: Map<string, Manifest['files'][number]>) {
  for await (const { key, bytes } of blobs.list('')) {
    if (copied.has(key) || key.startsWith(DRAFTS) || key.startsWith(EXPORTS) || isHealthCheck(key)) continue
    if (env.STORAGE_DISK === 's3') copied.set(key, { key, bytes, sha256: null })
    else {
      const written = await writePart(folder, filePath(key), Readable.from(blobs.get(key))).catch(ignoreMissing)
      if (written) copied.set(key, { key, bytes: written.bytes, sha256: written.sha256 })
    }
  }
}

function ignoreMissing(error: unknown): undefined {
  if (!(error instanceof BlobNotFound)) throw error
}

/** Copies the files that the service has beside the database. */
async function copyState(env: Env, folder: string): Promise<Part[]> {
  const parts: Part[] = []
  for (const { name, path } of listStateFiles(env))
    for (const below of await listFilesBelow(path))
      parts.push(await writePart(folder, join('state', name, below), createReadStream(join(path, below))))
  return parts
}

/** Lists the files of a folder by relative path; for a file the list has one empty path; if nothing exists it is empty. */
async function listFilesBelow(path: string): Promise<string[]> {
  const found = await stat(path).catch(() => undefined)
  if (!found) return []
  if (found.isFile()) return ['']
  const entries = await readdir(path, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile())
  return files.map(({ parentPath, name }) => join(parentPath, name).slice(path.length + 1)).sort()
}
