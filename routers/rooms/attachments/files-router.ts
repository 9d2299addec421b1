import { z } from 'zod'
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
import { countPictures } from '../../../entities/views/picture.sql.ts'
import { runInTransaction } from '../../core/changes.ts'
import type { Context } from '../../core/context.ts'
import type { Services } from '../../core/services.ts'
import { adminSession, freshAdmin, host, router } from '../../core/trpc.ts'
import { listPictures } from '../../identity/pictures/picture-files.ts'
import { FILE_KEY, USERDATA, type Vault } from '../../ports/vault.ts'
import { deleteExpired, deleteOrphanedFiles, listExpiredFiles } from './cleanup.ts'
import { verifyFiles } from './verify-storage.ts'

const MAX_OWNERS = 10

/**
 * How many attachments there are, and how large they are: in all, by kind, by the state of their text, and by who has most.
 * Beside them how many people and rooms have a picture, and what is stored of pictures.
 */
async function readFileStats({ sql, storage }: Pick<Services, 'sql' | 'storage'>) {
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
    pictures: { ...withPicture, ...(await countStoredPictures({ storage })) },
  }
}

const sumCounts = (counts: readonly FileCount[]): FileCount => ({
  files: counts.reduce((sum, { files }) => sum + files, 0),
  bytes: counts.reduce((sum, { bytes }) => sum + bytes, 0),
})

/** The files of pictures, as large as they are stored. */
async function countStoredPictures({ storage }: Pick<Services, 'storage'>): Promise<FileCount> {
  const sum = { files: 0, bytes: 0 }
  for await (const { files } of listPictures(storage)) {
    sum.files += files.length
    for (const { bytes } of files) sum.bytes += bytes
  }
  return sum
}

/** What came of sealing anew what application keys seal. */
interface Rotation {
  attachments: number
  pictures: number
  /** What front-end migrations keep for people who have not applied them: one for each person and migration. */
  migrationData: number
  /** How many were sealed anew: of an attachment its key, of a picture that of each size. The others already were. */
  renewed: number
  /** How many none of the application keys opens. */
  unknown: number
  /** How many files could not be read, so that their keys stay as they are. */
  unreadable: number
}

const FILE_BATCH = 1000

/**
 * Seals the keys of all files and pictures with the current application key, and what front-end migrations keep for people; what
 * the keys encrypt stays as it is.
 */
async function rotateKeys(services: Pick<Services, 'sql' | 'storage' | 'vault'>): Promise<Rotation> {
  const rotation: Rotation = { attachments: 0, pictures: 0, migrationData: 0, renewed: 0, unknown: 0, unreadable: 0 }
  await rotateAttachments(services, rotation)
  await rotatePictures(services, rotation)
  await rotateUserdata(services, rotation)
  await rotateExports(services, rotation)
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

/** The key of a picture is stored with it, so each file is written anew. */
async function rotatePictures({ storage }: Pick<Services, 'storage'>, rotation: Rotation): Promise<void> {
  for await (const { files } of listPictures(storage)) {
    rotation.pictures += 1
    for (const { key } of files) {
      const outcome = await storage.renew(key)
      if (outcome !== 'current' && outcome !== 'gone') rotation[outcome] += 1
    }
  }
}

/** Few, because what migrations keep for a person may be large. */
const USERDATA_BATCH = 100

/** Seals anew what front-end migrations keep for people. */
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

/** Seals the keys of people's archives anew, which are counted with all others. */
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

interface SealedRow {
  sealed: string
}

/** The rows that another key than the current one has sealed, with the same sealed anew; `unknown` counts those that no key opens. */
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

/** The upkeep of files and pictures, for whoever runs the service. */
export const filesRouter = router({
  /** Reads what is stored, which takes long where that is much: `sample` says of how many of a hundred files all is read. */
  verify: freshAdmin
    .meta({ waitsOutside: true })
    .input(z.strictObject({ sample: z.number().min(0).max(100).default(100) }))
    .query(({ ctx, input }) => verifyFiles(ctx.services, input.sample)),

  /** Several processes may do so at once. */
  rotate: host.mutation(({ ctx }) => rotateKeys(ctx.services)),

  stats: adminSession.query(({ ctx }) => readFileStats(ctx.services)),

  /** What is older than so many months, or than the settings let files become. Nothing where they keep them for ever. */
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

/** Plans the reading of texts that nobody would read any more, because the jobs were lost, as in a restore of the database. */
async function enqueueLostTexts(ctx: Context): Promise<{ planned: number }> {
  const { sql, jobQueue } = ctx.services
  let planned = 0
  for (let after = 0; ; ) {
    const rows = await sql(listPendingTexts, [after, TEXT_BATCH])
    const inputs = rows.map(({ id }) => ({ attachmentId: id }))
    planned += await runInTransaction(ctx, undefined, (em) => jobQueue.enqueueLost(em, 'extract-text', inputs))
    if (rows.length < TEXT_BATCH) return { planned }
    after = rows.at(-1)?.id ?? 0
  }
}
