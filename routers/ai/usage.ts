import { z } from 'zod'
import { reportUsage, summariseUsage } from '../../entities/ai/usage-record.sql.ts'
import { about, adminWith, router, userWith } from '../core/trpc.ts'

const day = z.iso.date('must be a day such as 2026-01-31')
const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10)

/** Days in UTC, both included. */
const period = z
  .strictObject({ from: day.default(() => daysAgo(30)), to: day.default(() => daysAgo(0)) })
  .refine(({ from, to }) => from <= to, { path: ['to'], message: 'must not be before from' })
  .prefault({})

export const usageRouter = router({
  summary: userWith('read')
    .meta(about("Sum up the caller's own AI calls by day, model and context."))
    .input(period)
    .query(({ ctx, input }) => ctx.services.sql(summariseUsage, [ctx.caller.person.id, input.from, input.to])),

  report: adminWith('read')
    .meta(about("Sum up everybody's AI calls by person, model, context and outcome."))
    .input(period)
    .query(({ ctx, input }) => ctx.services.sql(reportUsage, [input.from, input.to])),
})
