import { z } from 'zod'
import { findProfile, type Profile } from '../entities/user-statements.ts'
import { Problem } from './problems.ts'
import { host, router, userWho } from './trpc.ts'
import { findUser, userChoice } from './user-choice.ts'

export const usersRouter = router({
  me: userWho('user').query(async ({ ctx }): Promise<Profile> => {
    const [profile] = await ctx.sql(findProfile, [ctx.who.person.id])
    if (!profile) throw new Problem('not_found')
    return profile
  }),

  find: host.input(z.strictObject({ user: userChoice })).query(async ({ ctx, input }) => {
    const { id, username, name } = await findUser(ctx, input.user)
    return { id, username, name }
  }),
})
