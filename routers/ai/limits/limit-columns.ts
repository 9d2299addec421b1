import { findNamed, unclaimed } from '../../../entities/ai/usage-limit.sql.ts'
import type { Sql } from '../../../entities/sql/statement.ts'
import { Problem } from '../../core/problems.ts'
import { type LimitEntry, type LimitsConfig, limitColumns } from '../../ports/ai/limits-config.ts'

export type LimitColumns = ReturnType<typeof limitColumns>

/** Throws where nobody has the name that the limit is for. */
export async function columnsOf(sql: Sql, entry: LimitEntry): Promise<LimitColumns> {
  const { columns, ofNobody } = await columnsOfAll(sql, { timeZone: 'UTC', limits: [entry] })
  if (columns[0] && ofNobody.length === 0) return columns[0]
  const called = entry.for.startsWith('user') ? 'user with the username' : 'app with the name'
  throw new Problem('not_found', { detail: `There is no ${called} ${entry.for.slice(entry.for.indexOf(':') + 1)}.` })
}

/**
 * People and apps are named by their names, which can change, and counted by id. Where there are none of the name yet, the
 * limit is for whoever gets it first, and its own name is told.
 */
export async function columnsOfAll(sql: Sql, { timeZone, limits }: LimitsConfig) {
  const written = limits.map((entry) => limitColumns(entry, entry.timeZone ?? timeZone))
  const namesOf = (kind: string) => written.flatMap(({ subject, subjectId }) => (subject === kind && subjectId) || [])
  const found = await sql(findNamed, [namesOf('user').map(lowerCase), namesOf('app')])
  const ids = new Map(found.map(({ subject, name, id }) => [`${subject}:${name}`, `${id}`]))
  const ofNobody: string[] = []
  const columns = written.map((row) => {
    const name = row.subject === 'user' ? row.subjectId && lowerCase(row.subjectId) : row.subjectId
    if (name === null || (row.subject !== 'user' && row.subject !== 'app')) return row
    const id = ids.get(`${row.subject}:${name}`)
    if (id === undefined) ofNobody.push(row.name)
    return { ...row, subjectId: id ?? unclaimed(name) }
  })
  return { columns, ofNobody }
}

const lowerCase = (name: string) => name.toLowerCase()
