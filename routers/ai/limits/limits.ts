import type { EntityManager } from '@mikro-orm/postgresql'
import { z } from 'zod'
import { UsageCounter } from '../../../entities/ai/usage-counter.ts'
import { type ActiveLimit, listActiveLimits, unknownTimeZones } from '../../../entities/ai/usage-limit.sql.ts'
import { UsageLimit } from '../../../entities/ai/usage-limit.ts'
import { recordedCalls, summedCalls } from '../../../entities/ai/usage-simulation.sql.ts'
import { limitSubjectExists, listLimits, showLimit } from '../../../entities/views/limit-subject.sql.ts'
import type { Context } from '../../core/context.ts'
import { Problem } from '../../core/problems.ts'
import { inTransaction } from '../../core/run-statement.ts'
import { adminSession, freshAdmin, host, router } from '../../core/trpc.ts'
import { findUser, userChoice } from '../../identity/user-selector.ts'
import { type LimitsConfig, limitEntry, limitsConfig } from '../../ports/ai/limits-config.ts'
import { days, inOrder, notInOrder } from '../../ports/days.ts'
import { listPersonLimits } from '../explain-model.ts'
import { changeLimits, limitName, noLimit, noteLimit } from './claim-limits.ts'
import { type LimitColumns, toColumns, toColumnsOfAll } from './limit-columns.ts'
import { LimitSimulation, listPeriods } from './limit-simulation.ts'
import type { Refusals } from './simulated-limit.ts'
import { topUp } from './top-up.ts'

const simulation = z.strictObject({ ...days, config: limitsConfig.optional() }).refine(inOrder, notInOrder)

interface LimitPreview extends Pick<Refusals, 'limit' | 'mode' | 'subject' | 'refused'> {
  ids: Set<string>
}

/** The limits of the installation, for those who run it. */
export const limitsRouter = router({
  list: adminSession.query(({ ctx }) => ctx.services.sql(listLimits)),

  /** One limit with all who were counted in the running period. */
  show: adminSession.input(z.strictObject({ name: limitName })).query(async ({ ctx, input: { name } }) => {
    const states = await ctx.services.sql(showLimit, [name])
    if (states.length === 0) throw noLimit(name)
    return states
  }),

  /** The limits that apply to a person, with what is used of each; `subject` says where each comes from. */
  of: adminSession
    .input(z.strictObject({ user: userChoice }))
    .query(async ({ ctx, input }) => listPersonLimits(ctx, await findUser(ctx, input.user))),

  /** Makes a limit, or gives it other values; what is used stays where it still counts the same. */
  set: freshAdmin.input(limitEntry).mutation(async ({ ctx, input }) => {
    await assertTimeZones(ctx, [input])
    return changeLimits(ctx, async (em) => {
      const row = await em.findOne(UsageLimit, { name: input.name })
      if (row && isInFile(row)) throw inFile(input.name)
      const columns = await toColumns(inTransaction(em), input)
      noteLimit(ctx, columns, { before: row && toValues(row), after: toValues(columns) })
      await write(em, row, { ...columns, fromFile: false })
      return { name: input.name }
    })
  }),

  remove: freshAdmin.input(z.strictObject({ name: limitName })).mutation(({ ctx, input: { name } }) =>
    changeLimits(ctx, async (em) => {
      const row = await em.findOne(UsageLimit, { name })
      if (!row) throw noLimit(name)
      if (isInFile(row)) throw inFile(name)
      noteLimit(ctx, row, { before: toValues(row) })
      em.remove(row)
      return { name }
    }),
  ),

  topUp,

  /**
   * What limits would have refused of the calls that are recorded: those given, which hold nowhere yet, or those in force.
   * The rows are made while they are read, and the sums are whole when all are.
   */
  simulate: host.input(simulation).query(({ ctx, input }) => simulate(ctx, input)),

  /** The same in short: by limit, how many calls of how many people, or of whatever else it is for, it would have refused. */
  preview: adminSession
    .meta({ waitsOutside: true })
    .input(simulation)
    .query(async ({ ctx, input }) => {
      const { refusals, totals, leftOut, ofNobody } = await simulate(ctx, input)
      const limits = new Map<string, LimitPreview>()
      for await (const batch of refusals)
        for (const { limit, mode, subject, subjectId, refused } of batch) {
          const known = limits.get(limit) ?? { limit, mode, subject, refused: 0, ids: new Set<string>() }
          known.refused += refused
          known.ids.add(subjectId)
          limits.set(limit, known)
        }
      const rows = [...limits.values()].map(({ ids, ...sums }) => ({ ...sums, subjects: ids.size }))
      return { limits: rows, totals, leftOut, ofNobody }
    }),

  /** Limits for a model, a group or another one of a kind that is not here; those for people and apps wait for them. */
  unresolved: adminSession.query(async ({ ctx }) => {
    const named = (await inForce(ctx)).filter(({ subject }) => subject !== 'user' && subject !== 'app')
    const found = await Promise.all(
      named.map(async ({ name: limit, subject: kind, subjectId: name }) => {
        if (name === null) return []
        const [known] = await ctx.services.sql(limitSubjectExists, [kind, name])
        return known?.exists === false ? [{ by: `the limit ${limit}`, kind, name }] : []
      }),
    )
    return found.flat()
  }),

  /**
   * Brings the limits to what the file says; those of administrators stay, and their names are theirs. One for a person or an
   * app that is not there yet waits for them, and keeps no service from its start.
   */
  sync: host.mutation(async ({ ctx }) => {
    const config = await ctx.services.limitsConfig()
    await assertTimeZones(ctx, [config, ...config.limits])
    return changeLimits(ctx, async (em) => {
      const rows = new Map((await em.find(UsageLimit, {})).map((row) => [row.name, row]))
      assertNotSet(rows, config.limits)
      const { columns, ofNobody } = await toColumnsOfAll(inTransaction(em), config)
      for (const row of columns) await write(em, rows.get(row.name) ?? null, { ...row, fromFile: true })
      const names = new Set(columns.map(({ name }) => name))
      const gone = [...rows.values()].filter((row) => isInFile(row) && !names.has(row.name))
      for (const row of gone) row.active = false
      return { limits: names.size, deactivated: gone.map(({ name }) => name), ofNobody }
    })
  }),
})

async function simulate(ctx: Context, { from, to, config }: z.output<typeof simulation>) {
  if (config) await assertTimeZones(ctx, [config, ...config.limits])
  const { columns, ofNobody } = config
    ? await toColumnsOfAll(ctx.services.sql, config)
    : { columns: await inForce(ctx), ofNobody: [] }
  const simulation = new LimitSimulation(columns)
  const values = [from, to, ...listPeriods(columns).values]
  const [summed] = await ctx.services.sql(summedCalls, values)
  const refusals = simulation.run(ctx.services.readInBatches(recordedCalls, values))
  return { refusals, totals: simulation.totals, leftOut: summed?.requests ?? 0, ofNobody }
}

type LimitValues = Pick<UsageLimit, 'subject' | 'subjectId' | 'cap' | 'unit' | 'currency' | 'period' | 'mode'>

const toValues = ({ subject, subjectId, cap, unit, currency, period, mode }: LimitValues) => {
  return { subject, subjectId, cap, unit, currency, period, mode }
}

/** Node.js knows some that the database does not. */
async function assertTimeZones({ services }: Context, entries: readonly { timeZone?: string | undefined }[]) {
  const [unknown] = await services.sql(unknownTimeZones, [entries.flatMap(({ timeZone }) => timeZone ?? [])])
  if (!unknown) return
  const message = `${unknown.name} is not a time zone that the database knows, such as Europe/Berlin`
  throw new Problem('invalid', { detail: message, issues: [{ path: ['timeZone'], message }] })
}

async function inForce(ctx: Context): Promise<readonly ActiveLimit[]> {
  const [found] = await ctx.services.sql(listActiveLimits)
  return found?.limits ?? []
}

/** A limit that counts something else than before begins at nothing. */
async function write(em: EntityManager, row: UsageLimit | null, columns: LimitColumns & { fromFile?: boolean }) {
  if (!row) return em.create(UsageLimit, columns)
  const isSame = row.subject === columns.subject && row.unit === columns.unit && row.currency === columns.currency
  if (!isSame) await em.nativeDelete(UsageCounter, { limit: row.id })
  return em.assign(row, columns)
}

/** One that the file names no more is switched off, and the administrators'. */
const isInFile = ({ fromFile, active }: UsageLimit) => fromFile && active

/** The file takes no limit from administrators, who would lose what it had counted. */
function assertNotSet(rows: ReadonlyMap<string, UsageLimit>, limits: LimitsConfig['limits']): void {
  const set = limits.find(({ name }) => rows.get(name)?.active && !rows.get(name)?.fromFile)
  if (!set) return
  const detail = `LIMITS: the limit '${set.name}' was set by an administrator. Name that of the file otherwise, or remove theirs.`
  throw new Problem('conflict', { detail })
}

const inFile = (name: string) =>
  new Problem('conflict', { detail: `The limit '${name}' stands in the file that LIMITS names. Change it there.` })
