import { z } from 'zod'
import { oldestUsageDay, reportUsage, rollUpUsage, summariseUsage } from '../../entities/ai/usage-report.sql.ts'
import { usageBy, usageGroupings } from '../../entities/views/usage-by.sql.ts'
import { about, adminWith, host, router, userWith } from '../core/trpc.ts'
import { days, inOrder, notInOrder } from '../ports/days.ts'
import { ownLimits } from './own-limits.ts'

const period = z.strictObject(days).refine(inOrder, notInOrder).prefault({})

export const usageRouter = router({
  summary: userWith('read')
    .meta(about("Sum up the caller's own AI calls by day, model and context."))
    .input(period)
    .query(({ ctx, input }) => ctx.services.sql(summariseUsage, [ctx.caller.person.id, input.from, input.to])),

  limits: ownLimits,

  report: adminWith('read')
    .meta(about("Sum up everybody's AI calls by person, model, context and outcome."))
    .input(period)
    .query(({ ctx, input }) => ctx.services.sql(reportUsage, [input.from, input.to])),

  /** Sums up everybody's calls by one thing, some rows at a time: there may be as many as people. */
  by: host
    .input(z.strictObject({ ...days, by: z.enum(usageGroupings) }).refine(inOrder, notInOrder))
    .query(({ ctx, input: { by, from, to } }) => ctx.services.readInBatches(usageBy(by), [from, to])),

  /** Keeps only sums of what is older than records are kept. Several replicas may do so at once. */
  rollUp: host.mutation(async ({ ctx: { services } }) => {
    const months = services.settings.usageRetentionMonths
    if (months === undefined) return { days: 0 }
    const before = firstOfMonth(months)
    let days = 0
    for (;;) {
      const [oldest] = await services.sql(oldestUsageDay, [before])
      if (!oldest) return { days }
      await services.sql(rollUpUsage, [oldest.day])
      days += 1
    }
  }),
})

/** The first day of the month so many months ago, in UTC. */
function firstOfMonth(ago: number): string {
  const now = new Date()
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - ago, 1)).toISOString().slice(0, 10)
}
