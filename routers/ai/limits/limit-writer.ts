import type { EntityManager } from '@mikro-orm/postgresql'
import { clearUsedAmounts, countRecordedUsage, openRecordedCounters } from '../../../entities/ai/usage-count.sql.ts'
import { UsageCounter } from '../../../entities/ai/usage-counter.ts'
import { UsageLimit } from '../../../entities/ai/usage-limit.ts'
import { runStatement } from '../../core/run-statement.ts'
import type { LimitColumns } from './named-limits.ts'

interface LimitWrite {
  /** The limit of this name, if there is one. */
  row: UsageLimit | null
  columns: LimitColumns & { fromFile: boolean }
}

/** The beginning of a count. */
export interface BegunCount {
  countFrom: LimitColumns['countFrom']
  /** Subjects with recorded calls in the running period. */
  subjects: number
  /** Their sum in requests, tokens or millionths of the currency. */
  used: number
}

/**
 * Creates or updates limits. Those that count something else than before count the recorded calls of the running
 * period, or begin at 0. Returns the beginnings.
 */
export async function writeLimits(em: EntityManager, writes: readonly LimitWrite[]): Promise<BegunCount[]> {
  const begun: { limit: UsageLimit; countFrom: LimitColumns['countFrom'] }[] = []
  for (const write of writes) {
    const limit = await writeLimit(em, write)
    if (limit) begun.push({ limit, countFrom: write.columns.countFrom })
  }
  await em.flush()
  const counts: BegunCount[] = []
  for (const { limit, countFrom } of begun) counts.push({ countFrom, ...(await beginCount(em, limit, countFrom)) })
  return counts
}

/** Returns the limit if its count begins. */
async function writeLimit(em: EntityManager, { row, columns: { countFrom, ...columns } }: LimitWrite) {
  const begins = { countsFrom: countFrom === 'now' ? new Date() : null }
  if (!row) return em.create(UsageLimit, { ...columns, ...begins })
  const isBegun = countsAnew(row, columns)
  if (countsOther(row, columns)) await em.nativeDelete(UsageCounter, { limit: row.id })
  em.assign(row, isBegun ? { ...columns, ...begins } : columns)
  return isBegun ? row : undefined
}

async function beginCount(em: EntityManager, { id }: UsageLimit, countFrom: LimitColumns['countFrom']) {
  const none = { subjects: 0, used: 0 }
  if (countFrom === 'now') {
    await runStatement(em, clearUsedAmounts, [[id]])
    return none
  }
  await runStatement(em, openRecordedCounters, [[id]])
  const [counted] = await runStatement(em, countRecordedUsage, [[id]])
  return counted ?? none
}

type Counted = Pick<UsageLimit, 'subject' | 'subjectId' | 'unit' | 'currency' | 'period' | 'timeZone'>

/** True if the counters of a limit mean something else. */
const countsOther = (row: Counted, columns: Counted) =>
  row.subject !== columns.subject || row.unit !== columns.unit || row.currency !== columns.currency

/** True if a limit has not counted yet what it counts from now on. */
const countsAnew = (row: Counted & Pick<UsageLimit, 'active'>, columns: Counted) =>
  !row.active ||
  countsOther(row, columns) ||
  row.subjectId !== columns.subjectId ||
  row.period !== columns.period ||
  row.timeZone !== columns.timeZone
