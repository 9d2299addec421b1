import { z } from 'zod'
import { Problem } from '../../core/problems.ts'
import { freshSessionUser, router, sessionUser } from '../../core/trpc.ts'
import { eraseUser } from '../erase-user.ts'
import { findUser } from '../user-selector.ts'
import { signOut } from './own-sessions.ts'

/** Procedures for the caller's own account as a whole. */
export const ownAccountRouter = router({
  removal: sessionUser.query(({ ctx }) => ({ isAllowed: ctx.services.settings.allowAccountRemoval })),

  /** Removes the caller as an administrator would, signs them out, and returns the next address. */
  remove: freshSessionUser
    .input(z.strictObject({ username: z.string().max(255) }))
    .mutation(async ({ ctx, input }): Promise<{ redirectUri: string }> => {
      if (!ctx.services.settings.allowAccountRemoval)
        throw new Problem('not_permitted', { detail: 'People cannot remove their own accounts here.' })
      const { id, username } = ctx.caller.person
      if (input.username !== username)
        throw new Problem('invalid', { issues: [{ path: ['username'], message: 'must be your username' }] })
      await eraseUser(ctx, await findUser(ctx, { id }))
      return signOut(ctx)
    }),
})
