import { z } from 'zod'
import { listTextsAfter, replaceTexts } from '../../../entities/assistants/assistant.sql.ts'
import { listKnowledgeKeysAfter, replaceKnowledgeKeys } from '../../../entities/assistants/knowledge-maintenance.sql.ts'
import { listUserdataAfter, replaceUserdata } from '../../../entities/identity/frontend-migration.ts'
import { listExportKeys, replaceExportKeys } from '../../../entities/identity/person-export.sql.ts'
import {
  countFiles,
  type FileCount,
  listFilesById,
  listLargestOwners,
  listPendingTexts,
  replaceSealedKeys,
} from '../../../entities/rooms/attachment-maintenance.sql.ts'
import { listCopyKeysAfter, replaceCopyKeys } from '../../../entities/rooms/shared-link.sql.ts'
import type { Statement } from '../../../entities/sql/statement.ts'
import { countPictures } from '../../../entities/views/picture.sql.ts'
import { runInTransaction } from '../../core/changes.ts'
import type { Context } from '../../core/context.ts'
import type { Services } from '../../core/services.ts'
import { about, adminSession, host, router, sensitiveAdmin } from '../../core/trpc.ts'
import { listPictures } from '../../identity/pictures/picture-files.ts'
import type { Storage } from '../../ports/files/storage.ts'
import { ASSISTANT_TEXTS, FILE_KEY, USERDATA, type Vault } from '../../ports/vault.ts'
import { deleteExpired, deleteOrphanedFiles, listExpiredFiles } from './cleanup.ts'
import { verifyFiles } from './verify-storage.ts'

const MAX_OWNERS = 10

/**
 * Counts attachments and their bytes: in total, by kind, by text state, and by the owners with the most. Adds how many
 * people and rooms have a picture, and what is stored of pictures.
 */
async function readFileStats({ sql, files: { storage } }: Pick<Services, 'sql' | 'files'>) {
  const groups = await sql(countFiles)
  const countBy = <Name extends 'kind' | 'textState' | 'linked'>(name: Name) =>
    [...Map.groupBy(groups, (group) => group[name])].map(([value, all]) => ({
      ...({ [name]: value } as Record<Name, typeof value>),
      ...sumCounts(all),
    }))
  const [withPicture] = await sql(countPictures)
  return {
    ...sumCounts(groups),
    kinds: countBy('kind'),
    textStates: countBy('textState'),
    linked: countBy('linked'),
    owners: await sql(listLargestOwners, [MAX_OWNERS]),
    pictures: { ...withPicture, ...(await countStoredPictures(storage)) },
  }
}

const sumCounts = (counts: readonly FileCount[]): FileCount => ({
  files: counts.reduce((sum, { files }) => sum + files, 0),
  bytes: counts.reduce((sum, { bytes }) => sum + bytes, 0),
})

/** Counts the files of pictures, and their stored bytes. */
async function countStoredPictures(storage: Storage): Promise<FileCount> {
  const sum = { files: 0, bytes: 0 }
  for await (const { files } of listPictures(storage)) {
    sum.files += files.length
    for (const { bytes } of files) sum.bytes += bytes
  }
  return sum
}

/** The result of re-encrypting with the current application key. */
interface Rotation {
  attachments: number
  pictures: number
  /** Data of front-end migrations for people who have not applied them: one entry for each person and migration. */
  migrationData: number
  /**
   * Number of keys and texts that were sealed anew, such as one key for each size of a picture. The others were current.
   */
  renewed: number
  /** Number of keys that no application key opens. */
  unknown: number
  /** Number of files that could not be read, so that their keys stay as they are. */
  unreadable: number
}

const FILE_BATCH = 1000

/**
 * Re-encrypts the keys of all files and pictures, the data of front-end migrations, and the texts of assistants, with the
 * current application key; the files themselves stay as they are.
 */
async function rotateKeys(services: Pick<Services, 'sql' | 'files' | 'vault'>): Promise<Rotation> {
  const rotation: Rotation = { attachments: 0, pictures: 0, migrationData: 0, renewed: 0, unknown: 0, unreadable: 0 }
  await rotateAttachments(services, rotation)
  await rotatePictures(services, rotation)
  await rotateUserdata(services, rotation)
  await rotateExports(services, rotation)
  for (const column of sealedColumns) await rotateColumn(services, column, rotation)
  return rotation
}

async function rotateAttachments({ sql, vault }: Pick<Services, 'sql' | 'vault'>, rotation: Rotation): Promise<void> {
  for (let after = 0; ; ) {
    const rows = await sql(listFilesById, [after, FILE_BATCH])
    const sealed = rows.map(({ id, sealedKey }) => ({ id, sealed: sealedKey }))
    const { changed, unknown } = resealRows(vault, FILE_KEY, sealed)
    if (changed.length > 0) {
      const values = [
        changed.map(({ id }) => id),
        changed.map(({ sealed }) => sealed),
        changed.map(({ resealed }) => resealed),
      ]
      rotation.renewed += (await sql(replaceSealedKeys, values)).length
    }
    rotation.attachments += rows.length
    rotation.unknown += unknown
    if (rows.length < FILE_BATCH) return
    after = rows.at(-1)?.id ?? 0
  }
}

/** Rewrites each picture file, because its key is stored in it. */
async function rotatePictures({ files: { storage } }: Pick<Services, 'files'>, rotation: Rotation): Promise<void> {
  for await (const { files } of listPictures(storage)) {
    rotation.pictures += 1
    for (const { key } of files) {
      const outcome = await storage.renew(key)
      if (outcome !== 'current' && outcome !== 'gone') rotation[outcome] += 1
    }
  }
}

/** A small batch, because the data of a migration may be large. */
const USERDATA_BATCH = 100

/** Re-encrypts the data of front-end migrations. */
async function rotateUserdata({ sql, vault }: Pick<Services, 'sql' | 'vault'>, rotation: Rotation): Promise<void> {
  for (let after = { user: 0, migration: 0 }; ; ) {
    const rows = await sql(listUserdataAfter, [after.user, after.migration, USERDATA_BATCH])
    const { changed, unknown } = resealRows(vault, USERDATA, rows)
    if (changed.length > 0) {
      const ids = [changed.map(({ user }) => user), changed.map(({ migration }) => migration)]
      const values = [...ids, changed.map(({ sealed }) => sealed), changed.map(({ resealed }) => resealed)]
      rotation.renewed += (await sql(replaceUserdata, values)).length
    }
    rotation.migrationData += rows.length
    rotation.unknown += unknown
    const last = rows.at(-1)
    if (!last || rows.length < USERDATA_BATCH) return
    after = last
  }
}

/** Re-encrypts the keys of personal data archives, which are counted with all others. */
async function rotateExports({ sql, vault }: Pick<Services, 'sql' | 'vault'>, rotation: Rotation): Promise<void> {
  const { changed, unknown } = resealRows(vault, FILE_KEY, await sql(listExportKeys))
  const values = [
    changed.map(({ id }) => id),
    changed.map(({ sealed }) => sealed),
    changed.map(({ resealed }) => resealed),
  ]
  rotation.renewed += (await sql(replaceExportKeys, values)).length
  rotation.unknown += unknown
}

/** Sealed values of one table, which are counted with all others. */
interface SealedColumn {
  purpose: string
  /** Values: the id after which to continue, and the batch size. */
  list: Statement<{ id: number; sealed: string }>
  /** Values: ids, sealed values, and the new ones. */
  replace: Statement<{ id: number }>
  batch: number
}

const sealedColumns: readonly SealedColumn[] = [
  // A small batch, because the instructions of an assistant may be long.
  { purpose: ASSISTANT_TEXTS, list: listTextsAfter, replace: replaceTexts, batch: 100 },
  { purpose: FILE_KEY, list: listKnowledgeKeysAfter, replace: replaceKnowledgeKeys, batch: FILE_BATCH },
  { purpose: FILE_KEY, list: listCopyKeysAfter, replace: replaceCopyKeys, batch: FILE_BATCH },
]

async function rotateColumn(
  { sql, vault }: Pick<Services, 'sql' | 'vault'>,
  { purpose, list, replace, batch }: SealedColumn,
  rotation: Rotation,
): Promise<void> {
  for (let after = 0; ; ) {
    const rows = await sql(list, [after, batch])
    const { changed, unknown } = resealRows(vault, purpose, rows)
    const values = [
      changed.map(({ id }) => id),
      changed.map(({ sealed }) => sealed),
      changed.map(({ resealed }) => resealed),
    ]
    rotation.renewed += changed.length > 0 ? (await sql(replace, values)).length : 0
    rotation.unknown += unknown
    if (rows.length < batch) return
    after = rows.at(-1)?.id ?? 0
  }
}

interface SealedRow {
  sealed: string
}

/**
 * Returns the rows that another key than the current one sealed, resealed; `unknown` counts those that no key opens.
 */
function resealRows<Row extends SealedRow>(vault: Vault, purpose: string, rows: readonly Row[]) {
  const opened = rows.flatMap((row) => {
    try {
      vault.open(row.sealed, purpose)
      return [{ ...row, resealed: vault.renew(row.sealed, purpose) }]
    } catch {
      return []
    }
  })
  return { changed: opened.filter(({ sealed, resealed }) => sealed !== resealed), unknown: rows.length - opened.length }
}

const months = z.int().min(1).max(1200)

/** Maintenance of files and pictures, for operators. */
export const filesRouter = router({
  verify: sensitiveAdmin
    .meta({
      ...about(
        'Verify the stored files, which may take long; `sample` is the percentage of files that are read completely.',
      ),
      waitsOutside: true,
    })
    .input(z.strictObject({ sample: z.number().min(0).max(100).default(100) }))
    .query(({ ctx, input }) => verifyFiles(ctx.services, input.sample)),

  /** Several processes may call it at once. */
  rotate: host.mutation(({ ctx }) => rotateKeys(ctx.services)),

  stats: adminSession.query(({ ctx }) => readFileStats(ctx.services)),

  /**
   * Lists attachments older than the given number of months, or than the retention setting. Returns nothing if they are
   * kept for ever.
   */
  expired: adminSession.input(z.strictObject({ months: months.optional() })).query(({ ctx, input }) => {
    const age = input.months ?? ctx.services.settings.attachments.retentionMonths
    return age === undefined ? [] : listExpiredFiles(ctx, age)
  }),

  deleteExpired: host.mutation(({ ctx }) => {
    const { retentionMonths } = ctx.services.settings.attachments
    return retentionMonths === undefined ? { deleted: 0 } : deleteExpired(ctx, retentionMonths)
  }),

  sweep: host.mutation(({ ctx }) => deleteOrphanedFiles(ctx.services)),

  planLostTexts: host.mutation(({ ctx }) => enqueueLostTexts(ctx)),
})

const TEXT_BATCH = 1000

/** Enqueues the extraction of texts whose jobs were lost, as after a restore of the database. */
async function enqueueLostTexts(ctx: Context): Promise<{ planned: number }> {
  const { sql } = ctx.services
  const { jobQueue } = ctx.services.process
  let planned = 0
  for (let after = 0; ; ) {
    const rows = await sql(listPendingTexts, [after, TEXT_BATCH])
    const inputs = rows.map(({ id }) => ({ attachmentId: id }))
    planned += await runInTransaction(ctx, undefined, (em) => jobQueue.enqueueLost(em, 'extract-text', inputs))
    if (rows.length < TEXT_BATCH) return { planned }
    after = rows.at(-1)?.id ?? 0
  }
}
