import { lockPerson } from '../../../entities/identity/user.sql.ts'
import { expiredByRoom, lockRooms, oldestExpired } from '../../../entities/rooms/attachment-upkeep.sql.ts'
import { changing } from '../../core/changes.ts'
import type { Context } from '../../core/context.ts'
import { arrayOf } from '../../verbs/run-in.ts'
import { removeEach } from '../attachments/remove.ts'

/** As many as are found at a time. */
const BATCH = 200

const MAX_ROOMS = 1000

/** What is older than so many months, by room. */
export const expiredFiles = ({ services }: Context, months: number) => services.sql(expiredByRoom, [months, MAX_ROOMS])

/** Deletes what is older than so many months, as its uploader would. Several replicas may do so at once. */
export async function deleteExpired(ctx: Context, months: number): Promise<{ deleted: number }> {
  let deleted = 0
  for (;;) {
    const expired = await ctx.services.sql(oldestExpired, [months, BATCH])
    if (expired.length === 0) return { deleted }
    for (const [uploader, files] of Map.groupBy(expired, (file) => file.uploader))
      deleted += await deleteOf(ctx, uploader, files)
  }
}

/** Takes the locks in the order in which whoever deletes one attachment does. */
const deleteOf = (ctx: Context, uploader: number, files: readonly { id: number; room: number | null }[]) =>
  changing(ctx, async (em, changes) => {
    await em.execute(lockPerson, [uploader])
    await em.execute(lockRooms, [arrayOf(files.flatMap(({ room }) => room ?? []))])
    return removeEach(
      { em, changes },
      files.map(({ id }) => id),
    )
  })
