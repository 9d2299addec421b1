import type { EntityManager } from '@mikro-orm/postgresql'
import { keepBackupUsername } from '../../entities/identity/user.sql.ts'
import type { User } from '../../entities/identity/user.ts'
import type { Context } from '../core/context.ts'
import { runStatement } from '../core/run-statement.ts'

/** Gives a person another username, in a transaction that has locked their row. What was derived with the one before stays readable. */
export async function renameUser(ctx: Context, em: EntityManager, user: User, username: string): Promise<void> {
  const { id, username: before } = user
  const { hooks } = ctx.services
  user.username = username
  await em.flush()
  await runStatement(em, keepBackupUsername, [before, id])
  await hooks.settle('name-freed', { subject: 'user', id, name: before, em })
  await hooks.settle('name-taken', { subject: 'user', id, name: username, em })
}
