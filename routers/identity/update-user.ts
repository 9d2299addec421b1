import { AI_USER_ID } from '../../entities/identity/user.ts'
import type { Context } from '../core/context.ts'
import { Problem } from '../core/problems.ts'
import { isAdministrator, middleware } from '../core/trpc.ts'
import type { UpdateInput } from '../resource/record.ts'
import { getRow } from '../verbs/read.ts'
import { updateRow, type WrittenRow } from '../verbs/write.ts'
import type { RowChange } from '../verbs/write-inputs.ts'
import { endAccess, endSessions } from './end-sessions.ts'
import { keyOfPicture } from './pictures/picture-files.ts'
import { replacePicture } from './pictures/pictures.ts'
import { consumeProfileChange } from './profile-changes.ts'
import { users } from './users.ts'

export type UserChange = UpdateInput<typeof users>

/** Lets people change themselves, and administrators the role of anybody, and whether they are kept out. */
export const mayUpdateUser = middleware(({ ctx, input, next }) => {
  const { id, role, disabled, displayName, bio, avatar } = input as UserChange
  const { current } = ctx.callerContext
  const person = current.type === 'user' ? current.person : undefined
  const own = person?.id === Number(id)
  if (Number(id) === AI_USER_ID) throw new Problem('read_only')
  if ((role !== undefined || disabled !== undefined) && !isAdministrator(current)) throw new Problem('admin_only')
  if (!own && [displayName, bio, avatar].some((value) => value !== undefined)) throw new Problem('read_only')
  return next()
})

/** Changes a person, and their picture with it where one is given. */
export async function updateUser(ctx: Context, { avatar: image, ...given }: UserChange) {
  const { id, ifVersion: _, role: __, disabled: ___, ...shown } = given
  if (image !== undefined || Object.keys(shown).length > 0) await consumeProfileChange(ctx, Number(id))
  const { avatar } = await getRow(ctx, users, given.id)
  if (image === undefined) return write(ctx, given)
  const before = avatar && keyOfPicture(avatar)
  return replacePicture(ctx, { before, image, write: (avatar) => write(ctx, { ...given, avatar }) })
}

const write = (ctx: Context, change: RowChange) =>
  updateRow(ctx, users, change, { afterFlush: (written) => afterFlush(ctx, written) })

/** What stays the same is not among the given members. */
async function afterFlush({ services }: Context, { em, changes, row, given }: WrittenRow): Promise<void> {
  const { role, disabled, ...shown } = given
  if (disabled) await endAccess({ em, changes }, row.id)
  if (disabled || role !== undefined) await endSessions({ em, changes }, row.id)
  if (Object.keys(shown).length > 0)
    await services.hooks.settle('user-profile-changed', { userId: row.id, em, changes })
}
