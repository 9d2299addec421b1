import { findOrphanedPictures } from '../../../entities/identity/picture.sql.ts'
import { deleteUnlinked, findOrphans } from '../../../entities/rooms/attachment.sql.ts'
import type { Services } from '../../core/services.ts'
import { listPictures, type PictureFiles } from '../../identity/pictures/picture-files.ts'
import { DRAFTS } from '../../ports/files/storage.ts'

/** How long an attachment waits for its message, and a file for its row, in milliseconds. */
export const GRACE_MS = 60 * 60_000

/** As many as one statement looks at. */
const BATCH = 1000

type SweepParts = Pick<Services, 'sql' | 'files' | 'storage'>

interface Swept {
  /** Attachments that no message was sent with. */
  unlinked: number
  /** Files without an attachment, which a process left that was killed. */
  orphans: number
  /** Pictures that neither a person nor a room has, and drafts of such as were to be written anew. */
  pictures: number
}

/** Deletes what nobody can use any more; another replica may do the same at the same time. */
export async function sweepFiles(parts: SweepParts): Promise<Swept> {
  const before = new Date(Date.now() - GRACE_MS)
  return {
    unlinked: await sweepUnlinked(parts, before),
    orphans: await sweepOrphans(parts, before),
    pictures: (await sweepPictures(parts, before)) + (await sweepDrafts(parts, before)),
  }
}

async function sweepUnlinked({ sql, files }: SweepParts, before: Date): Promise<number> {
  let unlinked = 0
  for (;;) {
    const deleted = await sql(deleteUnlinked, [before, BATCH])
    await files.remove(deleted.map(({ uuid }) => uuid))
    unlinked += deleted.length
    if (deleted.length < BATCH) return unlinked
  }
}

async function sweepOrphans({ sql, files }: SweepParts, before: Date): Promise<number> {
  let orphans = 0
  for await (const listed of batchesOf(files.list(), ({ modifiedAt }) => modifiedAt < before)) {
    const found = await sql(findOrphans, [listed.map(({ name }) => name)])
    await files.remove(found.map(({ name }) => name))
    orphans += found.length
  }
  return orphans
}

async function sweepPictures({ sql, storage }: SweepParts, before: Date): Promise<number> {
  let pictures = 0
  const isOld = ({ files }: PictureFiles) => files.every(({ modifiedAt }) => modifiedAt < before)
  for await (const listed of batchesOf(listPictures(storage), isOld)) {
    const found = await sql(findOrphanedPictures, [listed.map(({ name }) => name)])
    const orphaned = new Set(found.map(({ name }) => name))
    for (const { name, files } of listed)
      if (orphaned.has(name)) await Promise.all(files.map(({ key }) => storage.delete(key)))
    pictures += found.length
  }
  return pictures
}

async function sweepDrafts({ storage }: SweepParts, before: Date): Promise<number> {
  let drafts = 0
  for await (const { key, modifiedAt } of storage.list(DRAFTS)) {
    if (modifiedAt >= before) continue
    await storage.delete(key)
    drafts += 1
  }
  return drafts
}

/** The items that are wanted, so many at a time. */
async function* batchesOf<T>(items: AsyncIterable<T>, isWanted: (item: T) => boolean): AsyncGenerator<T[], void> {
  let batch: T[] = []
  for await (const item of items) {
    if (isWanted(item)) batch.push(item)
    if (batch.length < BATCH) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}
