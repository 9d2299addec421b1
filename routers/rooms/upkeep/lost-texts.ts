import { pendingTexts } from '../../../entities/rooms/attachment-upkeep.sql.ts'
import type { Context } from '../../core/context.ts'

const BATCH = 1000

/** Plans the reading of texts that nobody would read any more, because the jobs were lost, as in a restore of the database. */
export async function planLostTexts(ctx: Context): Promise<{ planned: number }> {
  const { sql, jobQueue } = ctx.services
  let planned = 0
  for (let after = 0; ; ) {
    const rows = await sql(pendingTexts, [after, BATCH])
    const inputs = rows.map(({ id }) => ({ attachmentId: id }))
    planned += await ctx.em().transactional((em) => jobQueue.enqueueLost(em, 'extract-text', inputs))
    if (rows.length < BATCH) return { planned }
    after = rows.at(-1)?.id ?? 0
  }
}
