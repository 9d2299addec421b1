import { z } from 'zod'
import { listLimitsFor } from '../../entities/ai/usage-limit.sql.ts'
import { oldestUsageDay, reportUsage, rollUpUsage, summariseUsage } from '../../entities/ai/usage-report.sql.ts'
import { listOfferedModels } from '../../entities/catalogue/ai-model.sql.ts'
import { acquireLock, locks } from '../../entities/sql/locks.ts'
import { selectUsageBy, selectUsagePage, usageGroupings } from '../../entities/views/usage-by.sql.ts'
import { runInTransaction } from '../core/changes.ts'
import { runStatement } from '../core/run-statement.ts'
import { about, adminSession, adminWith, host, router, userWith } from '../core/trpc.ts'
import type { SubjectId } from '../ports/ai/usage-ledger.ts'
import { days, isInOrder, orderIssue } from '../ports/days.ts'
import { listUsableGroups } from '../verbs/viewer.ts'
import { bill, close } from './bills.ts'
import { type ChatContext, mayAskInRooms } from './chat-context.ts'
import { callerSubjects } from './reservation.ts'

const ownLimits = userWith('read')
  .meta(
    about(
      'List the limits that apply to the caller, to the models they may ask and to the rooms where they may, with what is used, held and left of each.',
    ),
  )
  .query(async ({ ctx }) => {
    const { caller, usage, services } = ctx
    const [models, rooms] = await Promise.all([
      services.sql(listOfferedModels, [usage, listUsableGroups(caller)]),
      roomsToAsk(ctx),
    ])
    const providers = [...new Set(models.map(({ provider }) => provider))]
    const subjects: SubjectId[] = [
      ...callerSubjects(caller),
      ...providers.map((provider) => ['provider', provider] as const),
      ...models.map(({ modelId }) => ['model', modelId] as const),
      ...rooms.map(({ id }) => ['room', id] as const),
    ]
    const names = new Map(rooms.map(({ id, name }) => [id, name]))
    const limits = await services.sql(listLimitsFor, [
      subjects.map(([subject]) => subject),
      subjects.map(([, id]) => id),
    ])
    return limits.map((limit) => ({
      ...limit,
      /** Of which room it is, by the name that people gave it. */
      roomName: limit.subject === 'room' ? (names.get(limit.subjectId) ?? null) : null,
    }))
  })

const roomsToAsk = async (ctx: ChatContext) =>
  mayAskInRooms(ctx) ? ctx.services.roomDirectory.findRoomsToAsk(ctx.caller.person.id) : []

const period = z.strictObject(days).refine(isInOrder, orderIssue).prefault({})

const usagePageInput = {
  by: z.enum(usageGroupings),
  page: z.int().min(1).max(100_000).default(1),
  size: z.int().min(1).max(1000).default(100),
}

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
    .input(z.strictObject({ ...days, by: z.enum(usageGroupings) }).refine(isInOrder, orderIssue))
    .query(({ ctx, input: { by, from, to } }) => ctx.services.readInBatches(selectUsageBy(by), [from, to])),

  /** The same, page by page. */
  list: adminSession
    .input(z.strictObject({ ...days, ...usagePageInput }).refine(isInOrder, orderIssue))
    .query(async ({ ctx, input: { by, from, to, page, size } }) => {
      const rows = await ctx.services.sql(selectUsagePage(by), [from, to, size + 1, (page - 1) * size])
      return { rows: rows.slice(0, size), hasMore: rows.length > size }
    }),

  bill,

  close,

  /** Keeps only sums of what is older than records are kept. Several replicas may do so at once. */
  rollUp: host.mutation(async ({ ctx }) => {
    const { services } = ctx
    const months = services.settings.usageRetentionMonths
    if (months === undefined) return { days: 0 }
    const before = firstOfMonth(months)
    let days = 0
    for (;;) {
      const [oldest] = await services.sql(oldestUsageDay, [before])
      if (!oldest) return { days }
      await runInTransaction(ctx, undefined, async (em) => {
        // A month that is being closed has all of the day, or none.
        await runStatement(em, acquireLock, [locks.closeUsage])
        await runStatement(em, rollUpUsage, [oldest.day])
      })
      days += 1
    }
  }),
})

/** The first day of the month so many months ago, in UTC. */
function firstOfMonth(ago: number): string {
  const now = new Date()
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - ago, 1)).toISOString().slice(0, 10)
}
