import type { QueryResult } from '@mikro-orm/core'
import { eraseRules } from '../entities/erasure.ts'
import { AI_USER_ID, User } from '../entities/user.ts'
import type { Context } from './context.ts'
import { Problem } from './problems.ts'

/** How many rows went, or stayed without the person, per table. */
export type ErasureReport = Record<string, { deleted: number } | { kept: number }>

/** Erases a person and all they own in one transaction; their usage stays, without them. */
export async function eraseUser({ em, storage }: Context, user: User): Promise<ErasureReport> {
  if (user.id === AI_USER_ID) throw new Problem('invalid', { detail: 'The AI user cannot be removed.' })
  const report: ErasureReport = {}
  await em().transactional(async (tx) => {
    for (const [table, { column, rows }] of Object.entries(eraseRules)) {
      const erase = rows === 'delete' ? `delete from ${table}` : `update ${table} set ${column} = null`
      const { affectedRows } = await tx.execute<QueryResult>(`${erase} where ${column} = ?`, [user.id], 'run')
      report[table] = rows === 'delete' ? { deleted: affectedRows } : { kept: affectedRows }
    }
    report['users'] = { deleted: await tx.nativeDelete(User, { id: user.id }) }
  })
  // Only once nothing refers to it any more.
  if (user.avatar) await storage.delete(user.avatar)
  return report
}
