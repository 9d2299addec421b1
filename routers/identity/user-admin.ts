import { UniqueConstraintViolationException } from '@mikro-orm/core'
import { z } from 'zod'
import { setGroups } from '../../entities/identity/user.sql.ts'
import { AI_USER_ID, roles, User } from '../../entities/identity/user.ts'
import type { Context } from '../core/context.ts'
import { Problem } from '../core/problems.ts'
import { host, router } from '../core/trpc.ts'
import { email, groupNames, personName, username } from '../ports/login.ts'
import { endSessions } from './end-sessions.ts'
import { eraseUser } from './erase-user.ts'
import { assertLocalAccounts, assertNotGuessable, newPassword } from './password.ts'
import { imageBytes, storeAvatar } from './pictures/pictures.ts'
import { findUser, userChoice } from './user-selector.ts'

const newUser = z.strictObject({
  username,
  email,
  name: personName,
  role: z.enum(roles).optional(),
  password: newPassword.optional(),
})

/** What administrators do on the host. */
export const adminRouter = router({
  /** With a password, the person also has a local account: both or nothing. */
  addUser: host.input(newUser).mutation(async ({ ctx, input: { password, role = 'user', ...input } }) => {
    if (password !== undefined) {
      assertLocalAccounts(ctx)
      assertNotGuessable(password, [input.username, input.email])
    }
    const id = await ctx.em().transactional(async (em) => {
      const user = em.create(User, { ...input, role })
      await em.flush().catch(refuseDuplicate)
      await ctx.services.hooks.settle('name-taken', { subject: 'user', id: user.id, name: user.username, em })
      if (password !== undefined) await ctx.services.localAccounts.add(input, password)
      return user.id
    })
    return { id, ...input, role }
  }),

  setRole: host
    .input(z.strictObject({ user: userChoice, role: z.enum(roles) }))
    .mutation(async ({ ctx, input: { user: choice, role } }) => {
      const { id, username } = await person(ctx, choice)
      await ctx.em().transactional(async (em) => {
        const other = { id, role: { $ne: role } }
        if (await em.nativeUpdate(User, other, { role, updatedAt: new Date() })) await endSessions(em, id)
      })
      return { id, username, role }
    }),

  /** In place of those that the person was in. A login source that tells of groups does the same with each sign-in. */
  setGroups: host
    .input(z.strictObject({ user: userChoice, groups: groupNames }))
    .mutation(async ({ ctx, input: { user: choice, groups } }) => {
      const { id, username } = await person(ctx, choice)
      await ctx.services.sql(setGroups, [id, groups])
      return { id, username, groups }
    }),

  removeUser: host.input(z.strictObject({ user: userChoice })).mutation(async ({ ctx, input }) => {
    const user = await findUser(ctx, input.user)
    const { id, username } = user
    return { id, username, report: await eraseUser(ctx, user) }
  }),

  /** What a start goes by. */
  state: host.query(async ({ ctx }) => {
    const people = await ctx.em().count(User, { id: { $ne: AI_USER_ID } })
    return { hasPeople: people > 0 }
  }),

  /** The image as bytes in base64. */
  updateAiAvatar: host.input(z.strictObject({ image: imageBytes })).mutation(async ({ ctx, input }) => {
    const user = await findUser(ctx, { id: AI_USER_ID })
    return { avatar: await storeAvatar(ctx, user, Buffer.from(input.image, 'base64')) }
  }),
})

async function person(ctx: Context, choice: z.output<typeof userChoice>): Promise<User> {
  const user = await findUser(ctx, choice)
  if (user.id === AI_USER_ID) throw new Problem('invalid', { detail: 'The AI user has no role.' })
  return user
}

function refuseDuplicate(error: unknown): never {
  if (!(error instanceof UniqueConstraintViolationException)) throw error
  throw new Problem('conflict', { detail: 'There is a user with this username or e-mail address already.' })
}
