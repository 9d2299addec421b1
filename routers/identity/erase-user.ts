import type { EntityManager } from '@mikro-orm/postgresql'
import { type EraseRule, eraseRules } from '../../entities/identity/erasure.ts'
import { deleteExportsOfUser } from '../../entities/identity/person-export.sql.ts'
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

/**
 * Erases a person and everything they own in one transaction, after `beforehand` has run in it. Usage records stay
 * without the person.
 */
export async function eraseUser(
  ctx: Context,
  user: User,
  beforehand: (tx: EntityManager) => Promise<void> = async () => {},
): Promise<ErasureReport> {
  const { log } = ctx.services
  const { localAccounts } = ctx.services.login
  const { hooks, jobQueue } = ctx.services.process
  const { exports: exportFiles } = ctx.services.files
  if (user.id === AI_USER_ID) throw new Problem('invalid', { detail: 'The AI user cannot be removed.' })
  const report: ErasureReport = {}
  const files: string[] = []
  const exportFilesToRemove: string[] = []
  await withChangeLog(ctx, async (tx, changes) => {
    await beforehand(tx)
    // The username may have changed since the user was looked up.
    const [person] = await runStatement(tx, lockPerson, [user.id])
    // A concurrent request deleted the user first.
    if (!person) throw new Problem('not_found', { detail: `There is no user ${user.username} any more.` })
    const { username } = person
    await hooks.emitSerial('name-freed', { subject: 'user', id: user.id, name: username, em: tx })
    await hooks.emitSerial('user-erasing', { userId: user.id, em: tx, jobQueue, changes, report, files })
    await endAccess({ em: tx, changes }, user.id)
    const exports = await runStatement(tx, deleteExportsOfUser, [user.id])
    exportFilesToRemove.push(...exports.flatMap(({ file }) => file ?? []))
    report['person_exports'] = { deleted: exports.length, kept: 0 }
    for (const rule of eraseRules(tx.getMetadata())) {
      const { deleted = 0, kept = 0 } = report[rule.table] ?? {}
      const count = await eraseRows(tx, rule, user.id)
      report[rule.table] = rule.rows === 'delete' ? { deleted: deleted + count, kept } : { deleted, kept: kept + count }
    }
    files.push(...(await deletePerson(ctx, tx, user.id)))
    report['users'] = { deleted: 1, kept: 0 }
    // End registrations that are under way with this username.
    await tx.nativeDelete(Session, { subject: { username } })
    // Remove the account last: if that fails, the transaction rolls back; if only the commit fails, a retry
    // completes it.
    await localAccounts.remove(username)
    ctx.auditedCall?.recordChange({ erased: report })
  })
  // A backup from before still has them: the log tells whom to remove again after a restore.
  log.info({ ...describeActor(ctx), userId: user.id }, 'a person was removed')
  // Delete the files only after nothing refers to them.
  await deletePictures(ctx.services, files)
  // The hourly cleanup deletes what remains.
  await exportFiles
    .remove(exportFilesToRemove)
    .catch((error: unknown) => log.warn({ error }, 'an export could not be removed'))
  return report
}

/** Deletes the row of a person, and returns their picture, which may have changed since they were looked up. */
async function deletePerson(ctx: Context, tx: EntityManager, id: number): Promise<string[]> {
  const { avatar, role } = await runForOneRow(tx, deleteUser, [id])
  if (role === 'admin') await assertAdministratorLeft(ctx, tx)
  return avatar ? [avatar] : []
}

async function eraseRows(tx: EntityManager, { table, column, rows }: EraseRule, userId: number): Promise<number> {
  const eraseSql = rows === 'delete' ? `delete from ${table}` : `update ${table} set ${column} = null`
  const eraseStatement = statement<{ erased: number }>(
    `erase-${table}-${column}`,
    `with erased as (${eraseSql} where ${column} = $1 returning 1) select count(*)::int as erased from erased`,
  )
  return (await runForOneRow(tx, eraseStatement, [userId])).erased
}
