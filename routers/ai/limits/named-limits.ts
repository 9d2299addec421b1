import type { EntityManager } from '@mikro-orm/postgresql'
import { z } from 'zod'
import { claimLimits, raiseLimitVersion, returnLimits, toUnclaimedId } from '../../../entities/ai/usage-limit.sql.ts'
import type { LimitSubject, UsageLimit } from '../../../entities/ai/usage-limit.ts'
import { acquireLock, acquireSharedLock, locks } from '../../../entities/sql/locks.ts'
import type { Sql } from '../../../entities/sql/statement.ts'
import { findNamed } from '../../../entities/views/limit-subject.sql.ts'
import { runInTransaction } from '../../core/changes.ts'
import type { Context } from '../../core/context.ts'
import type { NameHolder } from '../../core/hooks.ts'
import { Problem } from '../../core/problems.ts'
import { runStatement } from '../../core/run-statement.ts'
import { type LimitEntry, type LimitsConfig, parseTarget, toLimitColumns } from '../../ports/ai/limits-config.ts'

/** Limits that the file has for a name hold from the moment that somebody has it. */
export async function claimNamedLimits({ subject, id, name, em }: NameHolder): Promise<void> {
  // The limits don't change meanwhile; of one name only one transaction disposes at a time.
  await runStatement(em, acquireSharedLock, [locks.changeLimits])
  await runStatement(em, claimLimits, [`${id}`, subject, toUnclaimedId(name)])
}

/** Limits that the file has for a name wait for whoever has it next. */
export async function returnNamedLimits({ subject, id, name, em }: NameHolder): Promise<void> {
  await runStatement(em, acquireSharedLock, [locks.changeLimits])
  await runStatement(em, returnLimits, [toUnclaimedId(name), subject, `${id}`])
}

/** One change of the limits after the other, each of which all processes see. */
export const changeLimits = <Result>(ctx: Context, work: (em: EntityManager) => Promise<Result>): Promise<Result> =>
  runInTransaction(ctx, undefined, async (em) => {
    await runStatement(em, acquireLock, [locks.changeLimits])
    await runStatement(em, raiseLimitVersion, [])
    return work(em)
  })

export const limitName = z.string().trim().min(1).max(80)

export const noLimit = (name: string) => new Problem('not_found', { detail: `There is no limit named '${name}'.` })

/** Tells the audit log of a change of a limit: of the person, where it is for one. */
export function noteLimit({ auditedCall }: Context, limit: NamedLimit, change: object): void {
  const { name, subject, subjectId } = limit
  const isPersonal = subject === 'user' && subjectId
  auditedCall?.setSubject(isPersonal ? `user:${subjectId}` : `limits:${name}`).recordChange({ limit: name, ...change })
}

type NamedLimit = Pick<UsageLimit, 'name' | 'subject' | 'subjectId'>

export type LimitColumns = ReturnType<typeof toLimitColumns>

/** Throws where nobody has the name that the limit is for. */
export async function toColumns(sql: Sql, entry: LimitEntry): Promise<LimitColumns> {
  const { columns, ofNobody } = await toColumnsOfAll(sql, { timeZone: 'UTC', limits: [entry] })
  if (columns[0] && ofNobody.length === 0) return columns[0]
  const { subject, subjectId } = parseTarget(entry.for)
  throw new Problem('not_found', { detail: `There is no ${subject} with the ${nouns[subject]} ${subjectId}.` })
}

/** What the name is called by which one of a kind can be told. */
export const nouns: Partial<Record<LimitSubject, string>> = { user: 'username', app: 'name', room: 'slug' }

/** Returns the id of one that is named by its name; what may be an id stays as it is. */
export async function idOfNamed(sql: Sql, subject: LimitSubject, name: string): Promise<string> {
  if (nouns[subject] === undefined || /^\d*$/.test(name)) return name
  const named = (kind: LimitSubject) => (kind === subject ? [kind === 'user' ? name.toLowerCase() : name] : [])
  const [found] = await sql(findNamed, [named('user'), named('app'), named('room')])
  return found ? `${found.id}` : name
}

/**
 * People, apps and rooms are named by their names, which can change, and counted by id. Where there are none of the name yet, the
 * limit is for whoever gets it first, and its own name is told.
 */
export async function toColumnsOfAll(sql: Sql, { timeZone, limits }: LimitsConfig) {
  const written = limits.map((entry) => withUsername(toLimitColumns(entry, entry.timeZone ?? timeZone)))
  const namesOf = (kind: string) => written.flatMap(({ subject, subjectId }) => (subject === kind && subjectId) || [])
  const found = await sql(findNamed, [namesOf('user'), namesOf('app'), namesOf('room')])
  const ids = new Map(found.map(({ subject, name, id }) => [`${subject}:${name}`, `${id}`]))
  const ofNobody: string[] = []
  const columns = written.map((row) => {
    const { subject, subjectId, name } = row
    const isId = subjectId === null || nouns[subject] === undefined || (subject === 'room' && /^\d+$/.test(subjectId))
    if (isId) return row
    const id = ids.get(`${subject}:${subjectId}`)
    if (id === undefined) ofNobody.push(name)
    return { ...row, subjectId: id ?? toUnclaimedId(subjectId) }
  })
  return { columns, ofNobody }
}

/** Usernames are kept in lower case. */
const withUsername = (row: LimitColumns): LimitColumns =>
  row.subject === 'user' ? { ...row, subjectId: row.subjectId?.toLowerCase() ?? null } : row
