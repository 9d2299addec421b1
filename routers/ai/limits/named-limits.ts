import type { EntityManager } from '@mikro-orm/postgresql'
import { z } from 'zod'
import { claimLimits, raiseLimitVersion, returnLimits, toUnclaimedId } from '../../../entities/ai/usage-limit.sql.ts'
import type { LimitSubject, UsageLimit } from '../../../entities/ai/usage-limit.ts'
import { acquireLock, acquireSharedLock, locks } from '../../../entities/sql/locks.ts'
import type { Sql } from '../../../entities/sql/statement.ts'
import { runInTransaction } from '../../core/changes.ts'
import type { Context } from '../../core/context.ts'
import type { NameHolder } from '../../core/hooks.ts'
import { Problem } from '../../core/problems.ts'
import { createTransactionSql, runStatement } from '../../core/run-statement.ts'
import { type LimitEntry, type LimitsConfig, toLimitColumns } from '../../ports/ai/limits-config.ts'
import { assertSubjectExists, findNamedSubjects, subjectNouns } from './limit-subjects.ts'

/** Applies the file's limits for a name to the person, app or tool server that now has it. */
export async function claimNamedLimits({ subject, id, name, em }: NameHolder): Promise<void> {
  // Limits must not change meanwhile; the lock of the name itself serializes its owners.
  await runStatement(em, acquireSharedLock, [locks.changeLimits])
  if (subject === 'tool-server' && !(await hasLabelAlone(em, id, name))) return
  await runStatement(em, claimLimits, [`${id}`, subject, toUnclaimedId(name)])
}

/** True if no other tool server has the label of this one, which would make it unclear whom a limit is for. */
async function hasLabelAlone(em: EntityManager, id: number, label: string): Promise<boolean> {
  const [owner] = await findNamedSubjects(createTransactionSql(em), [['tool-server', label]])
  return owner?.id === id
}

/** Detaches the file's limits for a name, so that they wait for its next owner. */
export async function returnNamedLimits({ subject, id, name, em }: NameHolder): Promise<void> {
  await runStatement(em, acquireSharedLock, [locks.changeLimits])
  await runStatement(em, returnLimits, [toUnclaimedId(name), subject, `${id}`])
}

/** Changes limits in a transaction, one at a time, and raises the version that all processes watch. */
export const changeLimits = <Result>(ctx: Context, work: (em: EntityManager) => Promise<Result>): Promise<Result> =>
  runInTransaction(ctx, undefined, async (em) => {
    await runStatement(em, acquireLock, [locks.changeLimits])
    await runStatement(em, raiseLimitVersion, [])
    return work(em)
  })

export const limitName = z.string().trim().min(1).max(80)

export const createUnknownLimit = (name: string) =>
  new Problem('not_found', { detail: `There is no limit named '${name}'.` })

/** Records a change of a limit in the audit log, under the person if the limit is personal. */
export function recordLimitChange({ auditedCall }: Context, limit: NamedLimit, change: object): void {
  const { name, subject, subjectId } = limit
  const isPersonal = subject === 'user' && subjectId
  auditedCall?.setSubject(isPersonal ? `user:${subjectId}` : `limits:${name}`).recordChange({ limit: name, ...change })
}

type NamedLimit = Pick<UsageLimit, 'name' | 'subject' | 'subjectId'>

export type LimitColumns = ReturnType<typeof toLimitColumns>

/** Converts an entry to columns. Throws if its subject does not exist, unless that is confirmed. */
export async function toColumns(sql: Sql, entry: LimitEntry, isConfirmed: boolean): Promise<LimitColumns> {
  const { columns, ofNobody } = await toAllColumns(sql, { timeZone: 'UTC', limits: [entry] })
  const [row] = columns
  if (!row) throw new Problem('internal')
  const subjectId = ofNobody.length > 0 ? null : row.subjectId
  await assertSubjectExists(sql, { target: entry.for, subjectId, isConfirmed })
  return row
}

/**
 * Converts entries to columns. The file names people, apps, rooms and tool servers by names that can change, so limits
 * store their ids. A limit whose subject does not exist yet is unclaimed, and its name is returned in `ofNobody`.
 */
export async function toAllColumns(sql: Sql, { timeZone, limits }: LimitsConfig) {
  const rows = limits.map((entry) => lowerCaseUsername(toLimitColumns(entry, entry.timeZone ?? timeZone)))
  const named = rows.flatMap(({ subject, subjectId }) => (subjectId ? [[subject, subjectId] as const] : []))
  const subjects = await findNamedSubjects(sql, named)
  const ids = new Map(subjects.map(({ subject, name, id }) => [`${subject}:${name}`, `${id}`]))
  const ofNobody: string[] = []
  const columns = rows.map((row) => {
    const { subject, subjectId, name } = row
    const isId = subjectId === null || subjectNouns[subject] === undefined || isRowId(subject, subjectId)
    if (isId) return row
    const id = ids.get(`${subject}:${subjectId}`)
    if (id === undefined) ofNobody.push(name)
    return { ...row, subjectId: id ?? toUnclaimedId(subjectId) }
  })
  return { columns, ofNobody }
}

/** Rooms and tool servers may be named by their ids. */
const isRowId = (subject: LimitSubject, name: string) =>
  (subject === 'room' || subject === 'tool-server') && /^\d+$/.test(name)

/** Usernames are stored in lower case. */
const lowerCaseUsername = (row: LimitColumns): LimitColumns =>
  row.subject === 'user' ? { ...row, subjectId: row.subjectId?.toLowerCase() ?? null } : row
