import { UniqueConstraintViolationException } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/postgresql'
import { z } from 'zod'
import { roles, User } from '../../entities/identity/user.ts'
import type { Context } from '../core/context.ts'
import { Problem } from '../core/problems.ts'
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
  await ctx.services.hooks.settle('name-taken', { subject: 'user', id: user.id, name: user.username, em })
  ctx.act?.concern(`user:${user.id}`)
  return user
}

export function refuseDuplicate(error: unknown): never {
  if (!(error instanceof UniqueConstraintViolationException)) throw error
  throw new Problem('conflict', { detail: 'There is a user with this username or e-mail address already.' })
}
