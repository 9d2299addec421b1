import { deleteUnlinked, findOrphans } from '../../../entities/rooms/attachment.sql.ts'
import type { Services } from '../../core/services.ts'

/** How long an attachment waits for its message, and a file for its attachment. */
export const GRACE_MS = 60 * 60_000

/** As many as one statement looks at. */
const BATCH = 1000

type SweepParts = Pick<Services, 'sql' | 'files'>

interface Swept {
  /** Attachments that no message was sent with. */
  unlinked: number
  /** Files without an attachment, which a process left that was killed. */
  orphans: number
}

/** Deletes what nobody can use any more; another replica may do the same at the same time. */
export async function sweepAttachments(parts: SweepParts): Promise<Swept> {
  const before = new Date(Date.now() - GRACE_MS)
  return { unlinked: await sweepUnlinked(parts, before), orphans: await sweepOrphans(parts, before) }
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
  let names: string[] = []
  const sweep = async () => {
    const found = await sql(findOrphans, [names])
    await files.remove(found.map(({ name }) => name))
    orphans += found.length
    names = []
  }
  for await (const { name, modifiedAt } of files.list()) {
    if (modifiedAt < before) names.push(name)
    if (names.length === BATCH) await sweep()
  }
  if (names.length > 0) await sweep()
  return orphans
}
