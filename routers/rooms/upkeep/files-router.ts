import { z } from 'zod'
import { host, router } from '../../core/trpc.ts'
import { planLostTexts } from './lost-texts.ts'
import { deleteExpired, expiredFiles } from './retention.ts'
import { rotateKeys } from './rotate.ts'
import { fileStats } from './stats.ts'
import { sweepFiles } from './sweep.ts'
import { verifyFiles } from './verify.ts'

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
    return age === undefined ? [] : expiredFiles(ctx, age)
  }),

  deleteExpired: host.mutation(({ ctx }) => {
    const { retentionMonths } = ctx.services.settings.attachments
    return retentionMonths === undefined ? { deleted: 0 } : deleteExpired(ctx, retentionMonths)
  }),

  sweep: host.mutation(({ ctx }) => sweepFiles(ctx.services)),

  planLostTexts: host.mutation(({ ctx }) => planLostTexts(ctx)),
})
