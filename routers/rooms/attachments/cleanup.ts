import { findOrphanedKnowledgeFiles } from '../../../entities/assistants/knowledge-maintenance.sql.ts'
import { lockPerson } from '../../../entities/identity/user.sql.ts'
import { deleteUnlinked, findOrphans } from '../../../entities/rooms/attachment.sql.ts'
import { listExpiredByRoom, listOldestExpired, lockRooms } from '../../../entities/rooms/attachment-maintenance.sql.ts'
import { findOrphanedCopies } from '../../../entities/rooms/shared-link.sql.ts'
import type { Statement } from '../../../entities/sql/statement.ts'
import { findOrphanedPictures } from '../../../entities/views/picture.sql.ts'
import { withChangeLog } from '../../core/changes.ts'
import type { Context } from '../../core/context.ts'
import { runStatement } from '../../core/run-statement.ts'
import type { Services } from '../../core/services.ts'
import { listPictures, type PictureFiles } from '../../identity/pictures/picture-files.ts'
import type { FileStore } from '../../ports/files/file-store.ts'
import { DRAFTS } from '../../ports/files/storage.ts'
import { deleteAttachmentsById } from './message-attachments.ts'

/** Milliseconds that an attachment may lack a message, and a file a row. */
export const GRACE_MS = 60 * 60_000

/** Rows that one statement handles. */
const BATCH_SIZE = 1000

type CleanupServices = Pick<Services, 'sql' | 'files'>

interface CleanupResult {
  /** Attachments without a message. */
  unlinked: number
  /** Files without an attachment, knowledge or link, left by a process that was killed. */
  orphans: number
  /** Pictures without a person or room, and drafts of pictures that were being rewritten. */
  pictures: number
}

/** Deletes files that nobody can use any more; several replicas may do so at the same time. */
export async function deleteOrphanedFiles(services: CleanupServices): Promise<CleanupResult> {
  const before = new Date(Date.now() - GRACE_MS)
  return {
    unlinked: await deleteUnlinkedAttachments(services, before),
    orphans:
      (await deleteFilesWithoutRow(services, services.files.attachments, findOrphans, before)) +
      (await deleteFilesWithoutRow(services, services.files.knowledge, findOrphanedKnowledgeFiles, before)) +
      (await deleteFilesWithoutRow(services, services.files.sharedCopies, findOrphanedCopies, before)),
    pictures: (await deleteOrphanedPictures(services, before)) + (await deleteOldDrafts(services, before)),
  }
}

async function deleteUnlinkedAttachments(
  { sql, files: { attachments: files } }: CleanupServices,
  before: Date,
): Promise<number> {
  let unlinked = 0
  for (;;) {
    const deleted = await sql(deleteUnlinked, [before, BATCH_SIZE])
    await files.remove(deleted.map(({ uuid }) => uuid))
    unlinked += deleted.length
    if (deleted.length < BATCH_SIZE) return unlinked
  }
}

async function deleteFilesWithoutRow(
  { sql }: CleanupServices,
  files: FileStore,
  findWithoutRow: Statement<{ name: string }>,
  before: Date,
): Promise<number> {
  let orphans = 0
  for await (const batch of collectInBatches(files.list(), ({ modifiedAt }) => modifiedAt < before)) {
    const found = await sql(findWithoutRow, [batch.map(({ name }) => name)])
    await files.remove(found.map(({ name }) => name))
    orphans += found.length
  }
  return orphans
}

async function deleteOrphanedPictures({ sql, files: { storage } }: CleanupServices, before: Date): Promise<number> {
  let pictures = 0
  const isOld = ({ files }: PictureFiles) => files.every(({ modifiedAt }) => modifiedAt < before)
  for await (const batch of collectInBatches(listPictures(storage), isOld)) {
    const found = await sql(findOrphanedPictures, [batch.map(({ name }) => name)])
    const orphaned = new Set(found.map(({ name }) => name))
    for (const { name, files } of batch)
      if (orphaned.has(name)) await Promise.all(files.map(({ key }) => storage.delete(key)))
    pictures += found.length
  }
  return pictures
}

async function deleteOldDrafts({ files: { storage } }: CleanupServices, before: Date): Promise<number> {
  let drafts = 0
  for await (const { key, modifiedAt } of storage.list(DRAFTS)) {
    if (modifiedAt >= before) continue
    await storage.delete(key)
    drafts += 1
  }
  return drafts
}

/** Yields the matching items in batches. */
async function* collectInBatches<T>(
  items: AsyncIterable<T>,
  isWanted: (item: T) => boolean,
): AsyncGenerator<T[], void> {
  let batch: T[] = []
  for await (const item of items) {
    if (isWanted(item)) batch.push(item)
    if (batch.length < BATCH_SIZE) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}

/** Expired attachments that are selected at a time. */
const EXPIRED_BATCH_SIZE = 200

const MAX_ROOMS = 1000

/** Lists what is older than the given number of months, by room. */
export const listExpiredFiles = ({ services }: Context, months: number) =>
  services.sql(listExpiredByRoom, [months, MAX_ROOMS])

/**
 * Deletes attachments older than the given number of months, as their uploader would. Several replicas may do so at
 * once.
 */
export async function deleteExpired(ctx: Context, months: number): Promise<{ deleted: number }> {
  let deleted = 0
  for (;;) {
    const expired = await ctx.services.sql(listOldestExpired, [months, EXPIRED_BATCH_SIZE])
    if (expired.length === 0) return { deleted }
    for (const [uploader, files] of Map.groupBy(expired, (file) => file.uploader))
      deleted += await deleteFiles(ctx, uploader, files)
  }
}

/** Takes the locks in the same order as the deletion of one attachment, which avoids deadlocks. */
const deleteFiles = (ctx: Context, uploader: number, files: readonly { id: number; room: number | null }[]) =>
  withChangeLog(ctx, async (em, changes) => {
    await runStatement(em, lockPerson, [uploader])
    await runStatement(em, lockRooms, [files.flatMap(({ room }) => room ?? [])])
    return deleteAttachmentsById(
      { em, changes },
      files.map(({ id }) => id),
    )
  })
