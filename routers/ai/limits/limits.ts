import { z } from 'zod'
import { openCounters, topUpCounter } from '../../../entities/ai/usage-counter.sql.ts'
import {
  type ActiveLimit,
  listActiveLimits,
  toUnclaimedId,
  unknownTimeZones,
} from '../../../entities/ai/usage-limit.sql.ts'
import { type LimitSubject, UsageLimit } from '../../../entities/ai/usage-limit.ts'
import { countSummedCalls, listRecordedCalls } from '../../../entities/ai/usage-simulation.sql.ts'
import type { Sql } from '../../../entities/sql/statement.ts'
import { limitSubjectExists, listLimits, showLimit } from '../../../entities/views/limit-subject.sql.ts'
import type { Context } from '../../core/context.ts'
import { Problem } from '../../core/problems.ts'
import { createTransactionSql } from '../../core/run-statement.ts'
import { about, adminSession, host, router, sensitiveAdmin } from '../../core/trpc.ts'
import { findUser, userSelector } from '../../identity/user-selector.ts'
import { type LimitsConfig, limitEntry, limitsConfig } from '../../ports/ai/limits-config.ts'
import { days, isInOrder, orderIssue } from '../../ports/days.ts'
import { listPersonLimits } from '../explain-model.ts'
import { LimitSimulation, listPeriods, type Refusals } from './limit-simulation.ts'
import { createUnknownSubject, findSubjectId, subjectNouns } from './limit-subjects.ts'
import { writeLimits } from './limit-writer.ts'
import {
  changeLimits,
  createUnknownLimit,
  limitName,
  recordLimitChange,
  toAllColumns,
  toColumns,
} from './named-limits.ts'

const topUp = sensitiveAdmin
  .meta(about('Add an amount to a limit for the running period, also before its first call. Each call adds again.'))
  .input(
    z.strictObject({ name: limitName, amount: z.number().positive().max(1e12), id: z.string().max(200).default('') }),
  )
  .mutation(({ ctx, input: { name, amount, id } }) =>
    changeLimits(ctx, async (em) => {
      const limit = await em.findOne(UsageLimit, { name })
      if (!limit) throw createUnknownLimit(name)
      const sql = createTransactionSql(em)
      const subjectId = chooseSubject(limit, await findSubjectId(sql, limit.subject, id))
      const values = [limit.id, subjectId, toCounterUnits(limit, amount)] as const
      recordLimitChange(ctx, { ...limit, subjectId }, { added: amount })
      const counter = (await sql(topUpCounter, values))[0] ?? (await openAndTopUp(sql, limit, values))
      if (!counter) throw createUnknownLimit(name)
      const { isTooMuch, ...result } = counter
      if (isTooMuch) throw createInvalid('amount', 'is too large')
      return result
    }),
  )

type Values = readonly [limit: number, subjectId: string, added: number]

/** Opens the counters that the period's first call would open, then adds the amount. */
async function openAndTopUp(sql: Sql, { subject, subjectId }: UsageLimit, values: Values) {
  const [id, counterSubject] = values
  if (subjectId === null && subject !== 'installation') {
    const [found] = await sql(limitSubjectExists, [subject, counterSubject])
    if (!found?.exists) throw await createUnknownSubject(sql, subject, counterSubject)
  }
  await sql(openCounters, [[id], [counterSubject]])
  return (await sql(topUpCounter, values))[0]
}

/** Returns the subject whose counter is topped up. Throws if it is missing, another one, or does not exist yet. */
function chooseSubject({ name, subject, subjectId }: UsageLimit, id: string): string {
  const only = subject === 'installation' ? '' : subjectId
  if (only !== null && id !== '' && id !== only)
    throw createInvalid('id', `must be absent: the limit is for one ${subject} alone`)
  const counterSubject = only ?? id
  if (counterSubject === '' && subject !== 'installation')
    throw createInvalid('id', `is required: which ${subject} gets it`)
  const awaited = stripUnclaimed(subject, counterSubject)
  if (awaited === counterSubject) return counterSubject
  const detail = `The limit '${name}' is for the ${subject} ${awaited}, which is not there yet.`
  throw new Problem('not_found', { detail: `${detail} Top it up once it is.` })
}

/** Returns the name for which a limit waits, and ids as they are. */
const stripUnclaimed = (subject: LimitSubject, subjectId: string) =>
  subjectNouns[subject] !== undefined && subjectId.startsWith(toUnclaimedId(''))
    ? subjectId.slice(toUnclaimedId('').length)
    : subjectId

/** Converts an amount to the unit of the counters. */
function toCounterUnits({ unit }: UsageLimit, amount: number): number {
  const added = Math.round(amount * (unit === 'money' ? 1_000_000 : 1))
  if (unit !== 'money' && added !== amount) throw createInvalid('amount', 'must be a whole number')
  if (added === 0) throw createInvalid('amount', 'is too small')
  return added
}

const createInvalid = (field: 'id' | 'amount', message: string) =>
  new Problem('invalid', { issues: [{ path: [field], message }] })

const simulation = z.strictObject({ ...days, config: limitsConfig.optional() }).refine(isInOrder, orderIssue)

interface LimitPreview extends Pick<Refusals, 'limit' | 'mode' | 'subject' | 'refused'> {
  ids: Set<string>
}

/** Administration of the usage limits. */
export const limitsRouter = router({
  list: adminSession.query(({ ctx }) => ctx.services.sql(listLimits)),

  /** Returns one limit with all subjects that were counted in the running period. */
  show: adminSession.input(z.strictObject({ name: limitName })).query(async ({ ctx, input: { name } }) => {
    const states = await ctx.services.sql(showLimit, [name])
    if (states.length === 0) throw createUnknownLimit(name)
    return states
  }),

  /** Returns the limits that apply to a person with the used amounts; `subject` tells why each applies. */
  of: adminSession
    .input(z.strictObject({ user: userSelector }))
    .query(async ({ ctx, input }) => listPersonLimits(ctx, await findUser(ctx, input.user))),

  set: sensitiveAdmin
    .meta(
      about(
        'Create or change a limit. Used amounts stay if the limit still counts the same; otherwise it counts the recorded calls of the running period, or begins at 0. `confirm` takes a person or group that does not exist yet.',
      ),
    )
    .input(limitEntry.safeExtend({ confirm: z.boolean().default(false) }))
    .mutation(async ({ ctx, input: { confirm, ...entry } }) => {
      await assertTimeZones(ctx, [entry])
      return changeLimits(ctx, async (em) => {
        const row = await em.findOne(UsageLimit, { name: entry.name })
        if (row && isInFile(row)) throw createInFileProblem(entry.name)
        const columns = await toColumns(createTransactionSql(em), entry, confirm)
        recordLimitChange(ctx, columns, { before: row && toValues(row), after: toValues(columns) })
        const [begun] = await writeLimits(em, [{ row, columns: { ...columns, fromFile: false } }])
        return { name: entry.name, begun: begun ?? null }
      })
    }),

  remove: sensitiveAdmin
    .meta(about('Remove a limit.'))
    .input(z.strictObject({ name: limitName }))
    .mutation(({ ctx, input: { name } }) =>
      changeLimits(ctx, async (em) => {
        const row = await em.findOne(UsageLimit, { name })
        if (!row) throw createUnknownLimit(name)
        if (isInFile(row)) throw createInFileProblem(name)
        recordLimitChange(ctx, row, { before: toValues(row) })
        em.remove(row)
        return { name }
      }),
    ),

  topUp,

  /**
   * Reports which recorded calls limits would have refused: the given limits, or those in force. Rows are produced
   * while they are read; the totals are complete at the end.
   */
  simulate: host.input(simulation).query(({ ctx, input }) => simulate(ctx, input)),

  /** Returns a summary of the simulation: refused calls and affected subjects by limit. */
  preview: adminSession
    .meta({ waitsOutside: true })
    .input(simulation)
    .query(async ({ ctx, input }) => {
      const { refusals, totals, leftOut, ofNobody } = await simulate(ctx, input)
      const limits = new Map<string, LimitPreview>()
      for await (const batch of refusals)
        for (const { limit, mode, subject, subjectId, refused } of batch) {
          const preview = limits.get(limit) ?? { limit, mode, subject, refused: 0, ids: new Set<string>() }
          preview.refused += refused
          preview.ids.add(subjectId)
          limits.set(limit, preview)
        }
      const rows = [...limits.values()].map(({ ids, ...sums }) => ({ ...sums, subjects: ids.size }))
      return { limits: rows, totals, leftOut, ofNobody }
    }),

  /**
   * Lists limits whose model, group or other subject does not exist. Limits for people and apps are left out, because
   * they may exist later.
   */
  unresolved: adminSession.query(async ({ ctx }) => {
    const named = (await listLimitsInForce(ctx)).filter(({ subject }) => subject !== 'user' && subject !== 'app')
    const found = await Promise.all(
      named.map(async ({ name: limit, subject: kind, subjectId: name }) => {
        if (name === null) return []
        const [known] = await ctx.services.sql(limitSubjectExists, [kind, name])
        return known?.exists === false ? [{ by: `the limit ${limit}`, kind, name: stripUnclaimed(kind, name) }] : []
      }),
    )
    return found.flat()
  }),

  /**
   * Brings the limits into line with the file; limits of administrators stay and keep their names. A limit for a person
   * or app that does not exist yet waits for them and does not prevent the start.
   */
  sync: host.mutation(async ({ ctx }) => {
    const config = await ctx.services.ai.limitsConfig()
    await assertTimeZones(ctx, [config, ...config.limits])
    return changeLimits(ctx, async (em) => {
      const rows = new Map((await em.find(UsageLimit, {})).map((row) => [row.name, row]))
      assertNotSetByAdministrator(rows, config.limits)
      const { columns, ofNobody } = await toAllColumns(createTransactionSql(em), config)
      const writes = columns.map((each) => ({ row: rows.get(each.name) ?? null, columns: { ...each, fromFile: true } }))
      await writeLimits(em, writes)
      const names = new Set(columns.map(({ name }) => name))
      const removed = [...rows.values()].filter((row) => isInFile(row) && !names.has(row.name))
      for (const row of removed) row.active = false
      return { limits: names.size, deactivated: removed.map(({ name }) => name), ofNobody }
    })
  }),
})

async function simulate(ctx: Context, { from, to, config }: z.output<typeof simulation>) {
  if (config) await assertTimeZones(ctx, [config, ...config.limits])
  const { columns, ofNobody } = config
    ? await toAllColumns(ctx.services.sql, config)
    : { columns: await listLimitsInForce(ctx), ofNobody: [] }
  const simulation = new LimitSimulation(columns)
  const values = [from, to, ...listPeriods(columns).values]
  const [summary] = await ctx.services.sql(countSummedCalls, values)
  const refusals = simulation.run(ctx.services.records.readInBatches(listRecordedCalls, values))
  return { refusals, totals: simulation.totals, leftOut: summary?.requests ?? 0, ofNobody }
}

type LimitValues = Pick<UsageLimit, 'subject' | 'subjectId' | 'cap' | 'unit' | 'currency' | 'period' | 'mode'>

const toValues = ({ subject, subjectId, cap, unit, currency, period, mode }: LimitValues) => {
  return { subject, subjectId, cap, unit, currency, period, mode }
}

/** Checks time zones in the database, which does not know all zones of Node.js. */
async function assertTimeZones({ services }: Context, entries: readonly { timeZone?: string | undefined }[]) {
  const [unknown] = await services.sql(unknownTimeZones, [entries.flatMap(({ timeZone }) => timeZone ?? [])])
  if (!unknown) return
  const message = `${unknown.name} is not a time zone that the database knows, such as Europe/Berlin`
  throw new Problem('invalid', { detail: message, issues: [{ path: ['timeZone'], message }] })
}

async function listLimitsInForce(ctx: Context): Promise<readonly ActiveLimit[]> {
  const [row] = await ctx.services.sql(listActiveLimits)
  return row?.limits ?? []
}

/** True for limits of the file. A limit that left the file is inactive and belongs to the administrators. */
const isInFile = ({ fromFile, active }: UsageLimit) => fromFile && active

/** Throws if the file names a limit of an administrator: taking it over would lose its counts. */
function assertNotSetByAdministrator(rows: ReadonlyMap<string, UsageLimit>, limits: LimitsConfig['limits']): void {
  const conflicting = limits.find(({ name }) => rows.get(name)?.active && !rows.get(name)?.fromFile)
  if (!conflicting) return
  const detail = `LIMITS: the limit '${conflicting.name}' was set by an administrator. Name that of the file otherwise, or remove theirs.`
  throw new Problem('conflict', { detail })
}

const createInFileProblem = (name: string) =>
  new Problem('conflict', { detail: `The limit '${name}' stands in the file that LIMITS names. Change it there.` })
