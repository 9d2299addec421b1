import { settleMigrations } from '../../entities/identity/frontend-migration.ts'
import { PasskeyBackup } from '../../entities/identity/passkey-backup.ts'
import { findKnownUser } from '../../entities/identity/user.sql.ts'
import { User } from '../../entities/identity/user.ts'
import { UserKeychainValue } from '../../entities/identity/user-keychain-value.ts'
import { withChangeLog } from '../core/changes.ts'
import { Problem } from '../core/problems.ts'
import { runStatement } from '../core/run-statement.ts'
import { assertFresh, router, sessionUser } from '../core/trpc.ts'
import { endOtherSessions } from './end-sessions.ts'
import { passkeyBackup } from './keychain.ts'
import { callerOfUser } from './session-caller.ts'

/** What helps somebody who has lost their passkey. */
export const passkeyRouter = router({
  /** With the username that its key is derived with, where the person has another one by now. */
  backup: sessionUser.query(async ({ ctx }) => {
    const backup = await ctx.em().findOne(PasskeyBackup, { user: ctx.caller.person.id })
    if (!backup) throw new Problem('not_found', { detail: 'There is no backup of your passkey.' })
    const { ciphertext, iv, tag, derivedWith } = backup
    return { ciphertext, iv, tag, ...(derivedWith && { username: derivedWith }) }
  }),

  /** Takes the place of the backup before: its code opens nothing any more. */
  renewBackup: sessionUser.input(passkeyBackup).mutation(async ({ ctx, input }) => {
    await ctx
      .em()
      .upsert(
        PasskeyBackup,
        { user: ctx.caller.person.id, ...input, derivedWith: null, updatedAt: new Date() },
        { onConflictFields: ['user'], onConflictExcludeFields: ['createdAt'] },
      )
  }),

  /** Deletes all keys, and what they opened is lost. The person registers anew; their other sessions are over. */
  reset: sessionUser.mutation(async ({ ctx }) => {
    const { session } = ctx.browser
    if (!session) throw new Problem('signed_out')
    assertFresh(ctx)
    const { id, username } = ctx.caller.person
    await withChangeLog(ctx, async (em, changes) => {
      await endOtherSessions({ em, changes }, id, session.handle)
      await em.nativeUpdate(User, { id }, { publicKey: null })
      await ctx.services.hooks.emitSerial('user-keys-changed', { userId: id, em, changes })
      await em.nativeDelete(UserKeychainValue, { user: id })
      await em.nativeDelete(PasskeyBackup, { user: id })
      await runStatement(em, settleMigrations, [id])
    })
    const [next] = await ctx.services.sql(findKnownUser, [username])
    if (!next) throw new Problem('signed_out')
    await ctx.browser.replace(next)
    ctx.callerContext.setCaller(callerOfUser(next), 'key-reset')
    return { redirectUri: '/register' }
  }),
})
