import type { EntityManager } from '@mikro-orm/postgresql'
import type { z } from 'zod'
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
import { toUserCaller } from './session-caller.ts'

/** Recovery of a lost passkey. */
export const passkeyRouter = router({
  /** Includes the username with which the key was derived, if the person was renamed since. */
  backup: sessionUser.query(async ({ ctx }) => {
    const backup = await ctx.em().findOne(PasskeyBackup, { user: ctx.caller.person.id })
    if (!backup) throw new Problem('not_found', { detail: 'There is no backup of your passphrase.' })
    const { ciphertext, iv, tag, derivedWith } = backup
    return { ciphertext, iv, tag, ...(derivedWith && { username: derivedWith }) }
  }),

  /** Replaces the previous backup, whose code becomes useless. */
  renewBackup: sessionUser.input(passkeyBackup).mutation(async ({ ctx, input }) => {
    await saveBackup(ctx.em(), ctx.caller.person.id, input)
  }),

  /**
   * Deletes all keys, so that everything they opened is lost. The person registers again, and their other sessions end.
   */
  reset: sessionUser.mutation(async ({ ctx }) => {
    const { session } = ctx.browser
    if (!session) throw new Problem('signed_out')
    assertFresh(ctx)
    const { id, username } = ctx.caller.person
    await withChangeLog(ctx, async (em, changes) => {
      await endOtherSessions({ em, changes }, id, session.handle)
      await em.nativeUpdate(User, { id }, { publicKey: null })
      await ctx.services.process.hooks.emitSerial('user-keys-changed', { userId: id, em, changes })
      await em.nativeDelete(UserKeychainValue, { user: id })
      await em.nativeDelete(PasskeyBackup, { user: id })
      await runStatement(em, settleMigrations, [id])
    })
    const [renewedUser] = await ctx.services.sql(findKnownUser, [username])
    if (!renewedUser) throw new Problem('signed_out')
    await ctx.browser.replace(renewedUser)
    ctx.callerContext.setCaller(toUserCaller(renewedUser), 'key-reset')
    return { redirectUri: '/register' }
  }),
})

/** Stores a backup in place of the previous one. */
export async function saveBackup(
  em: EntityManager,
  userId: number,
  backup: z.output<typeof passkeyBackup>,
): Promise<void> {
  await em.upsert(
    PasskeyBackup,
    { user: userId, ...backup, derivedWith: null, updatedAt: new Date() },
    { onConflictFields: ['user'], onConflictExcludeFields: ['createdAt'] },
  )
}
