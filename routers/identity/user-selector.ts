import { z } from 'zod'
import { User } from '../../entities/identity/user.ts'
import type { Context } from '../core/context.ts'
import { Problem } from '../core/problems.ts'
import { lowerCaseText } from '../ports/login.ts'

/** Row id within the range of its column. */
export const resourceId = z.coerce
  .number('must be a number')
  .int('must be a whole number')
  .min(1, 'must be at least 1')
  .max(2_147_483_647, 'is too large')

/** A user by username, e-mail address or id. */
export const userChoice = z.union([
  z.strictObject({ username: lowerCaseText().min(1, 'must not be empty') }),
  z.strictObject({ email: lowerCaseText().min(1, 'must not be empty') }),
  z.strictObject({ id: resourceId }),
])
export type UserChoice = z.output<typeof userChoice>

export async function findUser(ctx: Context, choice: UserChoice): Promise<User> {
  const user = await ctx.em().findOne(User, choice)
  const [[by, value] = []] = Object.entries(choice)
  if (!user) throw new Problem('not_found', { detail: `There is no user with the ${by} ${value}.` })
  ctx.auditedCall?.setSubject(`user:${user.id}`)
  return user
}
