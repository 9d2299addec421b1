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

/** Adds a person who has no account yet, in a transaction; throws where name or address are somebody else's. */
export async function addPerson(
  ctx: Context,
  em: EntityManager,
  { role = 'user', ...input }: z.output<typeof newPerson>,
): Promise<User> {
  const user = em.create(User, { ...input, role })
  await em.flush().catch(refuseDuplicate)
  await ctx.services.hooks.emitSerial('name-taken', { subject: 'user', id: user.id, name: user.username, em })
  ctx.auditedCall?.setSubject(`user:${user.id}`)
  return user
}

export function refuseDuplicate(error: unknown): never {
  if (!(error instanceof UniqueConstraintViolationException)) throw error
  throw new Problem('conflict', { detail: 'There is a user with this username or e-mail address already.' })
}

/** Gives a person another username, in a transaction that has locked their row. What was derived with the one before stays readable. */
export async function renameUser(ctx: Context, em: EntityManager, user: User, username: string): Promise<void> {
  const { id, username: before } = user
  const { hooks } = ctx.services
  user.username = username
  await em.flush()
  await runStatement(em, keepBackupUsername, [before, id])
  await hooks.emitSerial('name-freed', { subject: 'user', id, name: before, em })
  await hooks.emitSerial('name-taken', { subject: 'user', id, name: username, em })
}

/** Throws where a transaction has left nobody who administers, which only the host may do: two that remove each other take turns. */
export async function assertAdministratorLeft({ origin }: Context, em: EntityManager): Promise<void> {
  if (origin === 'host') return
  await runStatement(em, acquireLock, [locks.changeAdministrators])
  const [left] = await runStatement(em, findAdministrator, [])
  if (!left)
    throw new Problem('conflict', {
      detail: 'Nobody would administer this service. Make somebody else an administrator first.',
    })
}
