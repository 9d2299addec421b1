import { z } from 'zod'
import { listDeprecatedCallers } from '../../entities/system/deprecated-call.ts'
import { listEndingModels } from '../../entities/views/ending-model.sql.ts'
import { listNearLimits } from '../../entities/views/limit-subject.sql.ts'
import {
  abandonedTokens,
  callsByHour,
  offlineModels,
  selectModelQuality,
  toolsToApprove,
} from '../../entities/views/overview.sql.ts'
import { checkPrices } from '../catalogue/prices.ts'
import { Problem } from '../core/problems.ts'
import { about, adminSession, router } from '../core/trpc.ts'
import { collectReplicaReports } from '../rooms/realtime.ts'
import { changesInput, followChanges, followInput, readChangesSince } from '../verbs/change-feed.ts'
import { checkParts } from './health.ts'

/** The largest number of rows in a list on the dashboard. */
const MAX_ROWS = 20

/** Converts rows with a total to a short list. */
function summarizeRows<Row extends { total: number }>(rows: readonly Row[]) {
  return { total: rows[0]?.total ?? 0, items: rows.map(({ total: _, ...row }) => row) }
}

const summarizeList = <Row>(rows: readonly Row[]) => ({ total: rows.length, items: rows.slice(0, MAX_ROWS) })

const days = z.int().min(1).max(90).default(7)

/** Procedures for the dashboard of administrators. Sums by day, model, provider and group are in `usage.list`. */
export const overviewRouter = router({
  /** Checks all components now, and reports the open connections of each replica. */
  health: adminSession.meta({ waitsOutside: true }).query(async ({ ctx }) => {
    const [{ status, checks }, replicas] = await Promise.all([
      checkParts(ctx),
      collectReplicaReports(ctx.services.changes.bus),
    ])
    return { status, parts: checks, replicas }
  }),

  changesSince: adminSession
    .meta(about('Read the acts of administrators and changes of the catalogue since a position.'))
    .input(changesInput.prefault({}))
    .query(({ ctx, input }) => readChangesSince(ctx, 'admins', input.page?.after)),

  changes: adminSession
    .meta(
      about(
        'Follow the acts of administrators and changes of the catalogue: names and ids, and nothing of their content.',
      ),
    )
    .input(followInput.prefault({}))
    .subscription(({ ctx, input: { lastEventId: after } }) => {
      const { caller } = ctx
      if (caller.type !== 'user') throw new Problem('session_only')
      // A changed role ends the session.
      return followChanges({ ...ctx, caller }, { stream: 'admins', after, admit: async () => () => false })
    }),

  /** Counts calls and tokens by hour. */
  calls: adminSession
    .input(z.strictObject({ hours: z.int().min(1).max(168).default(24) }).prefault({}))
    .query(({ ctx, input }) => ctx.services.sql(callsByHour, [input.hours])),

  /** Lists the slowest models, or those with the most failed calls. */
  models: adminSession
    .input(z.strictObject({ order: z.enum(['slowest', 'failing']), days }))
    .query(({ ctx, input: { order, days } }) => ctx.services.sql(selectModelQuality(order), [days])),

  /** Lists limits of which most is used in the period that runs, from a share on. */
  limits: adminSession
    .input(z.strictObject({ share: z.number().min(0).max(1).default(0.9) }).prefault({}))
    .query(({ ctx, input }) => ctx.services.sql(listNearLimits, [input.share])),

  /** Lists the models that end within 60 days or have ended, with the chats, limits, tasks and models that name them. */
  endings: adminSession.query(({ ctx }) => ctx.services.sql(listEndingModels)),

  /** Lists open decisions: each list has its first rows, and how many there are. */
  decisions: adminSession.query(async ({ ctx }) => {
    const { sql } = ctx.services
    const [tools, models, tokens, callers, prices] = await Promise.all([
      sql(toolsToApprove),
      sql(offlineModels),
      sql(abandonedTokens),
      sql(listDeprecatedCallers, [MAX_ROWS]),
      checkPrices(ctx),
    ])
    return {
      toolsToApprove: summarizeRows(tools),
      offlineModels: summarizeRows(models),
      leftTokens: summarizeRows(tokens),
      deprecatedCallers: summarizeList(callers),
      prices: summarizeList(prices),
    }
  }),
})
