import { z } from 'zod'
import { removeOldToolUses, sumToolUses } from '../../entities/ai/tool-use.sql.ts'
import { listLimitsFor } from '../../entities/ai/usage-limit.sql.ts'
import { oldestUsageDay, reportUsage, rollUpUsage, summariseUsage } from '../../entities/ai/usage-report.sql.ts'
import { listOfferedModels } from '../../entities/catalogue/ai-model.sql.ts'
import { listNamesForGroups } from '../../entities/catalogue/ai-tool.sql.ts'
import { acquireLock, locks } from '../../entities/sql/locks.ts'
import { selectUsageBy, selectUsagePage, usageGroupings } from '../../entities/views/usage-by.sql.ts'
import { runInTransaction } from '../core/changes.ts'
import { runStatement } from '../core/run-statement.ts'
import { about, adminSession, adminWith, host, router, userWith } from '../core/trpc.ts'
import type { SubjectId } from '../ports/ai/usage-ledger.ts'
import { days, isInOrder, orderIssue } from '../ports/days.ts'
import { listUsableGroups } from '../verbs/viewer.ts'
import { bill, closeBill } from './bills.ts'
import { type ChatContext, canAskInRooms } from './chat-context.ts'
import { listCallerSubjects } from './reservation.ts'

const ownLimits = userWith('read')
  .meta(
    about(
      'List the limits that apply to the caller, to the models they may ask, the tools they may call and the rooms where they may, with what is used, held and left of each.',
    ),
  )
  .query(async ({ ctx }) => {
    const { caller, usage, services } = ctx
    const [models, tools, rooms] = await Promise.all([
      services.sql(listOfferedModels, [usage, listUsableGroups(caller), null]),
      services.sql(listNamesForGroups, [listUsableGroups(caller)]),
      listRooms(ctx),
    ])
    const providers = [...new Set(models.map(({ provider }) => provider))]
    const servers = new Map(
      tools.flatMap(({ serverId, server }) => (serverId === null ? [] : [[`${serverId}`, server]])),
    )
    const subjects: SubjectId[] = [
      ...listCallerSubjects(caller),
      ...providers.map((provider) => ['provider', provider] as const),
      ...models.map(({ modelId }) => ['model', modelId] as const),
      ...[...servers.keys()].map((id) => ['tool-server', id] as const),
      ...tools.map(({ name }) => ['tool', name] as const),
      ...rooms.map(({ id }) => ['room', id] as const),
    ]
    const names = new Map(rooms.map(({ id, name }) => [id, name]))
    const limits = await services.sql(listLimitsFor, [
      subjects.map(([subject]) => subject),
      subjects.map(([, id]) => id),
    ])
    return limits.map((limit) => ({
      ...limit,
      /** Name that people gave the room. */
      roomName: limit.subject === 'room' ? (names.get(limit.subjectId) ?? null) : null,
      serverLabel: limit.subject === 'tool-server' ? (servers.get(limit.subjectId) ?? null) : null,
    }))
  })

const listRooms = async (ctx: ChatContext) =>
  canAskInRooms(ctx) ? ctx.services.rooms.directory.findRoomsToAsk(ctx.caller.person.id) : []

const period = z.strictObject(days).refine(isInOrder, orderIssue).prefault({})

const usagePageInput = {
  by: z.enum(usageGroupings),
  page: z.int().min(1).max(100_000).default(1),
  size: z.int().min(1).max(1000).default(100),
}

export const usageRouter = router({
  summary: userWith('read')
    .meta(
      about(
        "Sum up the caller's own AI calls by day, model and context. Calls of tools that cost something are among them, under the name of the tool.",
      ),
    )
    .input(period)
    .query(({ ctx, input }) => ctx.services.sql(summariseUsage, [ctx.caller.person.id, input.from, input.to])),

  limits: ownLimits,

  report: adminWith('read')
    .meta(
      about(
        "Sum up everybody's AI calls by person, model, context and outcome, with calls of tools that cost something.",
      ),
    )
    .input(period)
    .query(({ ctx, input }) => ctx.services.sql(reportUsage, [input.from, input.to])),

  tools: adminWith('read')
    .meta(about('Sum up the calls of tools by tool, surface and outcome.'))
    .input(period)
    .query(({ ctx, input }) => ctx.services.sql(sumToolUses, [input.from, input.to])),

  /** Sums up everybody's calls by one dimension in batches, because there may be as many rows as people. */
  by: host
    .input(z.strictObject({ ...days, by: z.enum(usageGroupings) }).refine(isInOrder, orderIssue))
    .query(({ ctx, input: { by, from, to } }) => ctx.services.records.readInBatches(selectUsageBy(by), [from, to])),

  /** Returns the same sums page by page. */
  list: adminSession
    .input(z.strictObject({ ...days, ...usagePageInput }).refine(isInOrder, orderIssue))
    .query(async ({ ctx, input: { by, from, to, page, size } }) => {
      const rows = await ctx.services.sql(selectUsagePage(by), [from, to, size + 1, (page - 1) * size])
      return { rows: rows.slice(0, size), hasMore: rows.length > size }
    }),

  bill,

  close: closeBill,

  /** Replaces records older than the retention by sums. Several replicas may run it at once. */
  rollUp: host.mutation(async ({ ctx }) => {
    const { services } = ctx
    const months = services.settings.usageRetentionMonths
    if (months === undefined) return { days: 0 }
    const cutoff = getMonthStart(months)
    while ((await services.sql(removeOldToolUses, [cutoff])).length > 0);
    let days = 0
    for (;;) {
      const [oldest] = await services.sql(oldestUsageDay, [cutoff])
      if (!oldest) return { days }
      await runInTransaction(ctx, undefined, async (em) => {
        // The lock makes a closing month see all of this day's records, or none.
        await runStatement(em, acquireLock, [locks.closeUsage])
        await runStatement(em, rollUpUsage, [oldest.day])
      })
      days += 1
    }
  }),
})

/** Returns the first day of the month so many months ago, in UTC. */
function getMonthStart(monthsAgo: number): string {
  const now = new Date()
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - monthsAgo, 1)).toISOString().slice(0, 10)
}
