import type { EntityManager } from '@mikro-orm/postgresql'
import { type EraseRule, eraseRules } from '../../entities/identity/erasure.ts'
import { deleteExportsOf } from '../../entities/identity/person-export.sql.ts'
import { Session } from '../../entities/identity/session.ts'
import { deleteUser, lockPerson } from '../../entities/identity/user.sql.ts'
import { AI_USER_ID, type User } from '../../entities/identity/user.ts'
import { statement } from '../../entities/sql/statement.ts'
import { withChangeLog } from '../core/changes.ts'
import { type Context, describeActor } from '../core/context.ts'
import type { ErasureReport } from '../core/hooks.ts'
import { Problem } from '../core/problems.ts'
import { runForOneRow, runStatement } from '../core/run-statement.ts'
import { endAccess } from './end-sessions.ts'
import { deletePictures } from './pictures/picture-files.ts'
import { assertAdministratorLeft } from './user-accounts.ts'

/** Erases a person and all they own in one transaction, once `first` agrees; their usage stays, without them. */
export async function eraseUser(
  ctx: Context,
  user: User,
  first: (tx: EntityManager) => Promise<void> = async () => {},
): Promise<ErasureReport> {
  const { localAccounts, hooks, exportFiles, log } = ctx.services
  if (user.id === AI_USER_ID) throw new Problem('invalid', { detail: 'The AI user cannot be removed.' })
  const report: ErasureReport = {}
  const files: string[] = []
  const archives: string[] = []
  await withChangeLog(ctx, async (tx, changes) => {
    await first(tx)
    await hooks.emitSerial('name-freed', { subject: 'user', id: user.id, name: user.username, em: tx })
    await hooks.emitSerial('user-erasing', { userId: user.id, em: tx, changes, report, files })
    await runStatement(tx, lockPerson, [user.id])
    await endAccess({ em: tx, changes }, user.id)
    const exports = await runStatement(tx, deleteExportsOf, [user.id])
    archives.push(...exports.flatMap(({ file }) => file ?? []))
    report['person_exports'] = { deleted: exports.length, kept: 0 }
    for (const rule of eraseRules(tx.getMetadata())) {
      const { deleted = 0, kept = 0 } = report[rule.table] ?? {}
      const count = await carryOut(tx, rule, user.id)
      report[rule.table] = rule.rows === 'delete' ? { deleted: deleted + count, kept } : { deleted, kept: kept + count }
    }
    // The picture that they have now, which may be another one than when they were looked up.
    const [deleted] = await runStatement(tx, deleteUser, [user.id])
    // Somebody else was faster.
    if (!deleted) throw new Problem('not_found', { detail: `There is no user ${user.username} any more.` })
    await assertAdministratorLeft(ctx, tx)
    if (deleted.avatar) files.push(deleted.avatar)
    report['users'] = { deleted: 1, kept: 0 }
    // Nobody goes on registering under their name.
    await tx.nativeDelete(Session, { subject: { username: user.username } })
    // Last: where the account cannot be removed nothing else is, and where only the commit fails the next try ends it.
    await localAccounts.remove(user.username)
    ctx.auditedCall?.recordChange({ erased: report })
  })
  // A backup from before has them still: the log says who is to be removed again after its restore.
  log.info({ ...describeActor(ctx), userId: user.id }, 'a person was removed')
  // Only once nothing refers to them any more.
  await deletePictures(ctx.services, files)
  // The hourly sweep finds what stays.
  await exportFiles.remove(archives).catch((error: unknown) => log.warn({ error }, 'an export could not be removed'))
  return report
}

async function carryOut(tx: EntityManager, { table, column, rows }: EraseRule, userId: number): Promise<number> {
  const erase = rows === 'delete' ? `delete from ${table}` : `update ${table} set ${column} = null`
  const erased = statement<{ erased: number }>(
    `erase-${table}-${column}`,
    `with erased as (${erase} where ${column} = $1 returning 1) select count(*)::int as erased from erased`,
  )
  return (await runForOneRow(tx, erased, [userId])).erased
}
