import { unclaimed } from '../../../entities/ai/usage-limit.sql.ts'
import type { LimitSubject } from '../../../entities/ai/usage-limit.ts'
import type { Sql } from '../../../entities/sql/statement.ts'
import { findNamed } from '../../../entities/views/limit-subject.sql.ts'
import { Problem } from '../../core/problems.ts'
import { parseTarget } from '../../ports/ai/limit-target.ts'
import { type LimitEntry, type LimitsConfig, limitColumns } from '../../ports/ai/limits-config.ts'

export type LimitColumns = ReturnType<typeof limitColumns>

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
  const written = limits.map((entry) => withUsername(limitColumns(entry, entry.timeZone ?? timeZone)))
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
    return { ...row, subjectId: id ?? unclaimed(subjectId) }
  })
  return { columns, ofNobody }
}

/** Usernames are kept in lower case. */
const withUsername = (row: LimitColumns): LimitColumns =>
  row.subject === 'user' ? { ...row, subjectId: row.subjectId?.toLowerCase() ?? null } : row
