import type { EntityManager } from '@mikro-orm/postgresql'
import { z } from 'zod'
import { openCounters, topUpCounter } from '../../../entities/ai/usage-counter.sql.ts'
import { UsageCounter } from '../../../entities/ai/usage-counter.ts'
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
import { adminSession, freshAdmin, host, router } from '../../core/trpc.ts'
import { findUser, userChoice } from '../../identity/user-selector.ts'
import { type LimitsConfig, limitEntry, limitsConfig } from '../../ports/ai/limits-config.ts'
import { days, isInOrder, orderIssue } from '../../ports/days.ts'
import { listPersonLimits } from '../explain-model.ts'
import { LimitSimulation, listPeriods, type Refusals } from './limit-simulation.ts'
import {
  changeLimits,
  idOfNamed,
  type LimitColumns,
  limitName,
  noLimit,
  noteLimit,
  nouns,
  toColumns,
  toColumnsOfAll,
} from './named-limits.ts'

/** Gives more of a limit for the period that runs, also before its first call; as much again with each call. */
const topUp = freshAdmin
  .input(
    z.strictObject({ name: limitName, amount: z.number().positive().max(1e12), id: z.string().max(200).default('') }),
  )
  .mutation(({ ctx, input: { name, amount, id } }) =>
    changeLimits(ctx, async (em) => {
      const limit = await em.findOne(UsageLimit, { name })
      if (!limit) throw noLimit(name)
      const sql = createTransactionSql(em)
      const subjectId = chooseSubject(limit, await idOfNamed(sql, limit.subject, id))
      const values = [limit.id, subjectId, toppingUp(limit, amount)] as const
      noteLimit(ctx, { ...limit, subjectId }, { added: amount })
      const topped = (await sql(topUpCounter, values))[0] ?? (await openAndTopUp(sql, limit, values))
      if (!topped) throw noLimit(name)
      const { isTooMuch, ...result } = topped
      if (isTooMuch) throw invalid('amount', 'is too large')
      return result
    }),
  )

type Values = readonly [limit: number, subjectId: string, added: number]

/** First makes the counters that the first call of the period would make. */
async function openAndTopUp(sql: Sql, { subject, subjectId }: UsageLimit, values: Values) {
  const [id, of] = values
  if (subjectId === null && subject !== 'installation') {
    const [found] = await sql(limitSubjectExists, [subject, of])
    if (!found?.exists) throw noSuch(subject, of)
  }
  await sql(openCounters, [[id], [of]])
  return (await sql(topUpCounter, values))[0]
}

/** Whose counter it is; throws where that is not said, is another one's, or nobody is there yet. */
function chooseSubject({ name, subject, subjectId }: UsageLimit, id: string): string {
  const only = subject === 'installation' ? '' : subjectId
  if (only !== null && id !== '' && id !== only)
    throw invalid('id', `must be absent: the limit is for one ${subject} alone`)
  const of = only ?? id
  if (of === '' && subject !== 'installation') throw invalid('id', `is required: which ${subject} gets it`)
  const waits = nouns[subject] !== undefined && of.startsWith(toUnclaimedId(''))
  if (!waits) return of
  const detail = `The limit '${name}' is for the ${subject} ${of.slice(toUnclaimedId('').length)}, which is not there yet.`
  throw new Problem('not_found', { detail: `${detail} Top it up once it is.` })
}

function noSuch(subject: LimitSubject, of: string): Problem {
  const noun = subject === 'token' || /^\d+$/.test(of) ? 'id' : nouns[subject]
  const called = ['room', 'app', 'user', 'token'].includes(subject) ? `with the ${noun}` : 'named'
  return new Problem('not_found', { detail: `There is no ${subject} ${called} '${of}'.` })
}

/** In the unit that counters have. */
function toppingUp({ unit }: UsageLimit, amount: number): number {
  const added = Math.round(amount * (unit === 'money' ? 1_000_000 : 1))
  if (unit !== 'money' && added !== amount) throw invalid('amount', 'must be a whole number')
  if (added === 0) throw invalid('amount', 'is too small')
  return added
}

const invalid = (field: 'id' | 'amount', message: string) =>
  new Problem('invalid', { issues: [{ path: [field], message }] })

const simulation = z.strictObject({ ...days, config: limitsConfig.optional() }).refine(isInOrder, orderIssue)

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
      const columns = await toColumns(createTransactionSql(em), input)
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
      const { columns, ofNobody } = await toColumnsOfAll(createTransactionSql(em), config)
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
  const [summed] = await ctx.services.sql(countSummedCalls, values)
  const refusals = simulation.run(ctx.services.readInBatches(listRecordedCalls, values))
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
