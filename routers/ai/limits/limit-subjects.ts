import type { LimitSubject } from '../../../entities/ai/usage-limit.ts'
import type { Sql } from '../../../entities/sql/statement.ts'
import {
  findNamed,
  limitSubjectExists,
  listServersLabelled,
  listSimilarNames,
} from '../../../entities/views/limit-subject.sql.ts'
import { Problem } from '../../core/problems.ts'
import { parseTarget } from '../../ports/ai/limits-config.ts'
import { findSimilar } from '../../ports/spelling.ts'

/** Attribute by which a subject can be named. */
export const subjectNouns: Partial<Record<LimitSubject, string>> = {
  user: 'username',
  app: 'name',
  room: 'slug',
  'tool-server': 'label',
}

type NamedSubject = readonly [subject: LimitSubject, name: string]

/** Finds the subjects of these names. A label that several tool servers have leads to none. */
export const findNamedSubjects = (sql: Sql, named: readonly NamedSubject[]) => {
  const listNames = (kind: LimitSubject) => named.flatMap(([subject, name]) => (subject === kind ? name : []))
  return sql(findNamed, [listNames('user'), listNames('app'), listNames('room'), listNames('tool-server')])
}

/** Returns the id of a subject that is given by its name. A value that may be an id stays as it is. */
export async function findSubjectId(sql: Sql, subject: LimitSubject, name: string): Promise<string> {
  if (subjectNouns[subject] === undefined || /^\d*$/.test(name)) return name
  const [row] = await findNamedSubjects(sql, [[subject, subject === 'user' ? name.toLowerCase() : name]])
  return row ? `${row.id}` : name
}

/** Kinds of subjects that come with sign-ins, so that a limit for one may be set before. */
const kindsOfSignIns: readonly LimitSubject[] = ['user', 'group']

/**
 * Throws if the single subject of a limit does not exist. People and groups may still be confirmed. `subjectId` is null
 * where a name has led to nothing.
 */
export async function assertSubjectExists(
  sql: Sql,
  { target, subjectId, isConfirmed }: { target: string; subjectId: string | null; isConfirmed: boolean },
): Promise<void> {
  const { subject, subjectId: name } = parseTarget(target)
  if (name === null) return
  const [found] = subjectId === null ? [] : await sql(limitSubjectExists, [subject, subjectId])
  if (found?.exists) return
  if (!kindsOfSignIns.includes(subject)) throw await createUnknownSubject(sql, subject, name)
  if (isConfirmed) return
  throw new Problem('confirmation_needed', { detail: await describeUnknownSubject(sql, subject, name) })
}

export const createUnknownSubject = async (sql: Sql, subject: LimitSubject, name: string) =>
  new Problem('not_found', { detail: await describeUnknownSubject(sql, subject, name) })

async function describeUnknownSubject(sql: Sql, subject: LimitSubject, name: string): Promise<string> {
  const namesakes = subject === 'tool-server' ? await sql(listServersLabelled, [name]) : []
  if (namesakes.length > 1)
    return `There are ${namesakes.length} tool servers with the label '${name}'. Name one by its id: ${namesakes.map(({ id }) => `tool-server:${id}`).join(' or ')}.`
  const noun = subject === 'token' || /^\d+$/.test(name) ? 'id' : subjectNouns[subject]
  const description = ['room', 'app', 'user', 'token', 'tool-server'].includes(subject) ? `with the ${noun}` : 'named'
  const names = (await sql(listSimilarNames, [subject, name])).map((row) => row.name)
  const similar = findSimilar(name, names)
  const hint = similar.length > 0 ? ` Did you mean ${similar.map((each) => `'${each}'`).join(' or ')}?` : ''
  return `There is no ${subject.replace('-', ' ')} ${description} '${name}'.${hint}`
}
