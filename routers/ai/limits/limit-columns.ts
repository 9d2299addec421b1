import type { EntityManager } from '@mikro-orm/postgresql'
import { unclaimed } from '../../../entities/ai/usage-limit.sql.ts'
import { User } from '../../../entities/identity/user.ts'
import { Problem } from '../../core/problems.ts'
import { type LimitEntry, limitColumns } from '../../ports/ai/limits-config.ts'

export type LimitColumns = ReturnType<typeof limitColumns>

/** Throws where nobody has the name that the limit is for. */
export async function columnsOf(em: EntityManager, entry: LimitEntry, zone: string): Promise<LimitColumns> {
  const columns = await findColumns(em, entry, zone)
  if (columns) return columns
  const { subject, subjectId } = limitColumns(entry, zone)
  const called = subject === 'user' ? 'user with the username' : 'app with the name'
  throw new Problem('not_found', { detail: `There is no ${called} ${subjectId}.` })
}

/** People and apps are named by their names, which can change, and counted by id; nothing where there is none of the name. */
export async function findColumns(
  em: EntityManager,
  entry: LimitEntry,
  zone: string,
): Promise<LimitColumns | undefined> {
  const columns = limitColumns(entry, zone)
  const { subject, subjectId } = columns
  if (subjectId === null || (subject !== 'user' && subject !== 'app')) return columns
  const [found] =
    subject === 'user'
      ? await em.find(User, { username: subjectId.toLowerCase() }, { fields: ['id'] })
      : await em.execute<{ id: number }[]>('select id from ext_apps where name = ?', [subjectId])
  return found && { ...columns, subjectId: `${found.id}` }
}

/** For whoever gets the name first. */
export function unclaimedColumns(entry: LimitEntry, zone: string): LimitColumns {
  const columns = limitColumns(entry, zone)
  const { subject, subjectId } = columns
  return { ...columns, subjectId: unclaimed((subject === 'user' ? subjectId?.toLowerCase() : subjectId) ?? '') }
}
