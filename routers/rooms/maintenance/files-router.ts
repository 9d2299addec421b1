import { z } from 'zod'
import { pendingTexts } from '../../../entities/rooms/attachment-upkeep.sql.ts'
import { transact } from '../../core/changes.ts'
import type { Context } from '../../core/context.ts'
import { host, router } from '../../core/trpc.ts'
import { deleteExpired, deleteOrphanedFiles, listExpiredFiles } from './cleanup.ts'
import { fileStats } from './file-stats.ts'
import { rotateKeys } from './key-rotation.ts'
import { verifyFiles } from './verify-storage.ts'

const months = z.int().min(1).max(1200)

/** The upkeep of files and pictures, for whoever runs the service. */
export const filesRouter = router({
  verify: host
    .input(z.strictObject({ sample: z.number().min(0).max(100).default(100) }))
    .query(({ ctx, input }) => verifyFiles(ctx.services, input.sample)),

  /** Several processes may do so at once. */
  rotate: host.mutation(({ ctx }) => rotateKeys(ctx.services)),

  stats: host.query(({ ctx }) => fileStats(ctx.services)),

  /** What is older than so many months, or than the settings let files become. Nothing where they keep them for ever. */
  expired: host.input(z.strictObject({ months: months.optional() })).query(({ ctx, input }) => {
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
    const rows = await sql(pendingTexts, [after, TEXT_BATCH])
    const inputs = rows.map(({ id }) => ({ attachmentId: id }))
    planned += await transact(ctx, undefined, (em) => jobQueue.enqueueLost(em, 'extract-text', inputs))
    if (rows.length < TEXT_BATCH) return { planned }
    after = rows.at(-1)?.id ?? 0
  }
}
