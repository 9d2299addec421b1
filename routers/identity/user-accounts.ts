import { UniqueConstraintViolationException } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/postgresql'
import { z } from 'zod'
import { findAdministrator, keepBackupUsername } from '../../entities/identity/user.sql.ts'
import { roles, User } from '../../entities/identity/user.ts'
import { acquireLock, locks } from '../../entities/sql/locks.ts'
import type { Context } from '../core/context.ts'
import { Problem } from '../core/problems.ts'
import { runStatement } from '../core/run-statement.ts'
import { email, personName, username } from '../ports/login.ts'

export const newPerson = z.strictObject({ username, email, name: personName, role: z.enum(roles).optional() })

/** Adds a person without an account. Throws if the username or e-mail address is taken. */
export async function addPerson(
  ctx: Context,
  em: EntityManager,
  { role = 'user', ...input }: z.output<typeof newPerson>,
): Promise<User> {
  const user = em.create(User, { ...input, role })
  await em.flush().catch(refuseDuplicate)
  await ctx.services.process.hooks.emitSerial('name-taken', { subject: 'user', id: user.id, name: user.username, em })
  ctx.auditedCall?.setSubject(`user:${user.id}`)
  return user
}

export function refuseDuplicate(error: unknown): never {
  if (!(error instanceof UniqueConstraintViolationException)) throw error
  throw new Problem('conflict', { detail: 'There is a user with this username or e-mail address already.' })
}

/** Renames a person whose row is locked, and keeps the previous username for keys that were derived with it. */
export async function renameUser(ctx: Context, em: EntityManager, user: User, username: string): Promise<void> {
  const { id, username: before } = user
  const { hooks } = ctx.services.process
  user.username = username
  await em.flush()
  await runStatement(em, keepBackupUsername, [before, id])
  await hooks.emitSerial('name-freed', { subject: 'user', id, name: before, em })
  await hooks.emitSerial('name-taken', { subject: 'user', id, name: username, em })
}

/**
 * Throws if the transaction leaves no administrator, which only the host may do. The lock serializes administrators who
 * remove each other.
 */
export async function assertAdministratorLeft({ origin }: Context, em: EntityManager): Promise<void> {
  if (origin === 'host') return
  await runStatement(em, acquireLock, [locks.changeAdministrators])
  const [administrator] = await runStatement(em, findAdministrator, [])
  if (!administrator)
    throw new Problem('conflict', {
      detail: 'Nobody would administer this service. Make somebody else an administrator first.',
    })
}
