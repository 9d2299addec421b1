import { z } from 'zod'
import { billGroupings } from '../../entities/ai/usage-closing.ts'
import { acquireLock, locks } from '../../entities/sql/locks.ts'
import {
  type BillRow,
  type Closing,
  closeMonth,
  findLastRecord,
  listClosings,
  selectClosedBill,
  selectOpenBill,
  storeBill,
  waitForRecords,
} from '../../entities/views/usage-bill.sql.ts'
import { runInTransaction } from '../core/changes.ts'
import type { Context } from '../core/context.ts'
import { Problem } from '../core/problems.ts'
import { runStatement } from '../core/run-statement.ts'
import { about, adminSession, sensitiveAdmin } from '../core/trpc.ts'
import { getDayBefore, monthName } from '../ports/days.ts'

/** Highest id of a usage record, for months that are open. */
const NO_RECORD_LIMIT = Number.MAX_SAFE_INTEGER

/** Returns the first day of a month, or of one some months later. */
function getFirstDay(billMonth: string, monthsLater = 0): string {
  const [year = 0, number = 1] = billMonth.split('-').map(Number)
  return new Date(Date.UTC(year, number - 1 + monthsLater, 1)).toISOString().slice(0, 10)
}

const getNextMonth = (billMonth: string) => getFirstDay(billMonth, 1).slice(0, 7)

function getLastDay(billMonth: string): string {
  return getDayBefore(1, Date.parse(getFirstDay(billMonth, 1)))
}

/**
 * Returns the last record of the previous closing if the month follows it, otherwise the maximum. Late records of
 * closed months come after it and count in this month.
 */
const findRecordLimit = (billMonth: string, [lastClosing]: readonly Closing[]) =>
  lastClosing && getNextMonth(lastClosing.month) === billMonth ? lastClosing.lastRecord : NO_RECORD_LIMIT

const billInput = z.strictObject({
  month: monthName,
  by: z.enum(billGroupings),
  page: z.int().min(1).max(100_000).default(1),
  size: z.int().min(1).max(1000).default(100),
})

/** Sums up the usage of a month by person, group, app, assistant, model or provider, in the currency. */
export const bill = adminSession
  .input(billInput)
  .query(async ({ ctx, input: { month: billMonth, by, page, size } }) => {
    const { sql } = ctx.services
    const closings = await sql(listClosings)
    const closing = closings.find(({ month }) => month === billMonth)
    const window = [size + 1, (page - 1) * size]
    const rows: BillRow[] = closing
      ? await sql(selectClosedBill, [closing.id, by, ...window])
      : await sql(selectOpenBill(by), [
          getFirstDay(billMonth),
          getLastDay(billMonth),
          findRecordLimit(billMonth, closings),
          NO_RECORD_LIMIT,
          ...window,
        ])
    return {
      month: billMonth,
      by,
      closedAt: closing?.closedAt ?? null,
      rows: rows.slice(0, size),
      hasMore: rows.length > size,
    }
  })

export const closeBill = sensitiveAdmin
  .meta(about('Close a month and store its sums. Records that arrive later count in the next month.'))
  .input(z.strictObject({ month: monthName }))
  .mutation(async ({ ctx, input: { month: billMonth } }) => {
    assertMonthIsOver(billMonth)
    // A short transaction of its own, because recording waits until it ends.
    const lastRecord = await readLastRecord(ctx)
    return runInTransaction(ctx, undefined, async (em) => {
      await runStatement(em, acquireLock, [locks.closeUsage])
      const closings = await runStatement(em, listClosings, [])
      assertFollowsLastClosing(billMonth, closings)
      const [closing] = await runStatement(em, closeMonth, [getFirstDay(billMonth), lastRecord])
      if (!closing) throw createClosedProblem(billMonth)
      const values = [
        getFirstDay(billMonth),
        getLastDay(billMonth),
        findRecordLimit(billMonth, closings),
        lastRecord,
        closing.id,
      ]
      for (const by of billGroupings) await runStatement(em, storeBill(by), values)
      return { month: billMonth, closedAt: closing.closedAt }
    })
  })

const readLastRecord = (ctx: Context) =>
  ctx.em().transactional(async (em) => {
    await runStatement(em, waitForRecords, [])
    const [lastRecord] = await runStatement(em, findLastRecord, [])
    return lastRecord?.last ?? 0
  })

function assertMonthIsOver(billMonth: string): void {
  if (getFirstDay(billMonth, 1) <= getDayBefore(0)) return
  throw new Problem('invalid', { detail: `${billMonth} is not over yet.` })
}

const createClosedProblem = (billMonth: string) =>
  new Problem('conflict', { detail: `${billMonth} is closed already.` })

/** Requires months to be closed in order, so that each late call counts in exactly one of them. */
function assertFollowsLastClosing(billMonth: string, closings: readonly Closing[]): void {
  if (closings.some(({ month }) => month === billMonth)) throw createClosedProblem(billMonth)
  const [lastClosing] = closings
  if (!lastClosing || getNextMonth(lastClosing.month) === billMonth) return
  throw new Problem('conflict', {
    detail: `${lastClosing.month} was closed last, so ${getNextMonth(lastClosing.month)} is the month that can be closed next.`,
  })
}
