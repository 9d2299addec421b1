import { z } from 'zod'
import { User } from '../../entities/identity/user.ts'
import type { Context } from '../core/context.ts'
import { Problem } from '../core/problems.ts'
import { lowerCaseText } from '../ports/login.ts'
import { LAST_ROW } from '../resource/ids.ts'

/** Row id within the range of its column. */
export const rowId = z.coerce
  .number('must be a number')
  .int('must be a whole number')
  .min(1, 'must be at least 1')
  .max(LAST_ROW, 'is too large')

/** A user by username, e-mail address or id. */
export const userSelector = z.union([
  z.strictObject({ username: lowerCaseText().min(1, 'must not be empty') }),
  z.strictObject({ email: lowerCaseText().min(1, 'must not be empty') }),
  z.strictObject({ id: rowId }),
])
export type UserSelector = z.output<typeof userSelector>

export async function findUser(ctx: Context, selector: UserSelector): Promise<User> {
  const user = await ctx.em().findOne(User, selector)
  const [[by, value] = []] = Object.entries(selector)
  if (!user) throw new Problem('not_found', { detail: `There is no user with the ${by} ${value}.` })
  ctx.auditedCall?.setSubject(`user:${user.id}`)
  return user
}
