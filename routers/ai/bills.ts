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
import { adminSession, freshAdmin } from '../core/trpc.ts'

const month = z.string().regex(/^[1-9]\d{3}-(0[1-9]|1[0-2])$/, 'must be a month such as 2026-01')

/** The highest number of a call, for months that are open. */
const NONE = Number.MAX_SAFE_INTEGER

/** The first day of the month that lies so many behind another one. */
function firstDay(of: string, behind = 0): string {
  const [year = 0, number = 1] = of.split('-').map(Number)
  return new Date(Date.UTC(year, number - 1 + behind, 1)).toISOString().slice(0, 10)
}

const nextMonth = (of: string) => firstDay(of, 1).slice(0, 7)

function lastDay(of: string): string {
  return new Date(Date.parse(firstDay(of, 1)) - 86_400_000).toISOString().slice(0, 10)
}

/** Calls of closed months that were recorded since belong to the month that follows the last of these. */
const recordedBefore = (of: string, [last]: readonly Closing[]) =>
  last && nextMonth(last.month) === of ? last.lastRecord : NONE

const billInput = z.strictObject({
  month,
  by: z.enum(billGroupings),
  page: z.int().min(1).max(100_000).default(1),
  size: z.int().min(1).max(1000).default(100),
})

/** Sums the usage of a month by person, group, app, model or provider, in the currency. */
export const bill = adminSession.input(billInput).query(async ({ ctx, input: { month: of, by, page, size } }) => {
  const { sql } = ctx.services
  const closings = await sql(listClosings)
  const closing = closings.find(({ month }) => month === of)
  const window = [size + 1, (page - 1) * size]
  const rows: BillRow[] = closing
    ? await sql(selectClosedBill, [closing.id, by, ...window])
    : await sql(selectOpenBill(by), [firstDay(of), lastDay(of), recordedBefore(of, closings), NONE, ...window])
  return { month: of, by, closedAt: closing?.closedAt ?? null, rows: rows.slice(0, size), hasMore: rows.length > size }
})

/** Keeps the sums of a month as they are now. What is recorded later counts in the next month. */
export const close = freshAdmin.input(z.strictObject({ month })).mutation(async ({ ctx, input: { month: of } }) => {
  assertOver(of)
  // In a transaction of its own, which recording waits for no longer than this.
  const lastRecord = await transactionOfRecords(ctx)
  return runInTransaction(ctx, undefined, async (em) => {
    await runStatement(em, acquireLock, [locks.closeUsage])
    const closings = await runStatement(em, listClosings, [])
    assertFollows(of, closings)
    const [closing] = await runStatement(em, closeMonth, [firstDay(of), lastRecord])
    if (!closing) throw closedAlready(of)
    const values = [firstDay(of), lastDay(of), recordedBefore(of, closings), lastRecord, closing.id]
    for (const by of billGroupings) await runStatement(em, storeBill(by), values)
    return { month: of, closedAt: closing.closedAt }
  })
})

const transactionOfRecords = (ctx: Context) =>
  ctx.em().transactional(async (em) => {
    await runStatement(em, waitForRecords, [])
    const [found] = await runStatement(em, findLastRecord, [])
    return found?.last ?? 0
  })

function assertOver(of: string): void {
  if (firstDay(of, 1) <= new Date().toISOString().slice(0, 10)) return
  throw new Problem('invalid', { detail: `${of} is not over yet.` })
}

const closedAlready = (of: string) => new Problem('conflict', { detail: `${of} is closed already.` })

/** Months are closed one after the other, so that each late call counts in one of them. */
function assertFollows(of: string, closings: readonly Closing[]): void {
  if (closings.some(({ month }) => month === of)) throw closedAlready(of)
  const [last] = closings
  if (!last || nextMonth(last.month) === of) return
  throw new Problem('conflict', {
    detail: `${last.month} was closed last, so ${nextMonth(last.month)} is the month that can be closed next.`,
  })
}
