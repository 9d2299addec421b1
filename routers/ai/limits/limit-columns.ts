import { findNamed, unclaimed } from '../../../entities/ai/usage-limit.sql.ts'
import type { Sql } from '../../../entities/sql/statement.ts'
import { Problem } from '../../core/problems.ts'
import { targetOf } from '../../ports/ai/limit-target.ts'
import { type LimitEntry, type LimitsConfig, limitColumns } from '../../ports/ai/limits-config.ts'

export type LimitColumns = ReturnType<typeof limitColumns>

/** Throws where nobody has the name that the limit is for. */
export async function columnsOf(sql: Sql, entry: LimitEntry): Promise<LimitColumns> {
  const { columns, ofNobody } = await columnsOfAll(sql, { timeZone: 'UTC', limits: [entry] })
  if (columns[0] && ofNobody.length === 0) return columns[0]
  const { subject, subjectId } = targetOf(entry.for)
  const called = subject === 'user' ? 'user with the username' : 'app with the name'
  throw new Problem('not_found', { detail: `There is no ${called} ${subjectId}.` })
}

/**
 * People and apps are named by their names, which can change, and counted by id. Where there are none of the name yet, the
 * limit is for whoever gets it first, and its own name is told.
 */
export async function columnsOfAll(sql: Sql, { timeZone, limits }: LimitsConfig) {
  const written = limits.map((entry) => withUsername(limitColumns(entry, entry.timeZone ?? timeZone)))
  const namesOf = (kind: string) => written.flatMap(({ subject, subjectId }) => (subject === kind && subjectId) || [])
  const found = await sql(findNamed, [namesOf('user'), namesOf('app')])
  const ids = new Map(found.map(({ subject, name, id }) => [`${subject}:${name}`, `${id}`]))
  const ofNobody: string[] = []
  const columns = written.map((row) => {
    const { subject, subjectId, name } = row
    if (subjectId === null || (subject !== 'user' && subject !== 'app')) return row
    const id = ids.get(`${subject}:${subjectId}`)
    if (id === undefined) ofNobody.push(name)
    return { ...row, subjectId: id ?? unclaimed(subjectId) }
  })
  return { columns, ofNobody }
}

/** Usernames are kept in lower case. */
const withUsername = (row: LimitColumns): LimitColumns =>
  row.subject === 'user' ? { ...row, subjectId: row.subjectId?.toLowerCase() ?? null } : row
