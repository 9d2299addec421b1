import type { EntityManager } from '@mikro-orm/postgresql'
import { z } from 'zod'
import { findLinkWithKeys } from '../../entities/apps/ext-app-link.sql.ts'
import { lockPublicKey } from '../../entities/identity/user-keychain-value.sql.ts'
import type { Sql } from '../../entities/sql/statement.ts'
import { withChangeLog } from '../core/changes.ts'
import type { Context } from '../core/context.ts'
import { Problem } from '../core/problems.ts'
import { createTransactionSql, runStatement } from '../core/run-statement.ts'
import type { KeychainForm } from '../core/settings.ts'
import { about, router, sessionUser, withBodySize } from '../core/trpc.ts'
import { endOtherSessions } from '../identity/end-sessions.ts'
import { passkeyBackup, readKeychainState } from '../identity/keychain.ts'
import { replaceAllEntries, rewrappedEntries } from '../identity/keychain-rewrap.ts'
import { saveBackup } from '../identity/passkey.ts'
import { endLinksOfOldKeys } from './app-links.ts'

/** The form in which a person's keychain is wrapped; an app that opens keychains decides on it, too. */
export const keychainRouter = router({
  form: sessionUser
    .meta(about("Read the form in which the caller's browser must encrypt the keychain."))
    .query(async ({ ctx }) => ({ form: await findForm(ctx, ctx.services.sql) })),

  /** Replaces all values by the same keys in another wrapping. */
  rewrap: sessionUser
    .meta({ ...about("Wrap the caller's keychain anew."), ...withBodySize('keychain') })
    .input(z.strictObject({ entries: rewrappedEntries }))
    .mutation(async ({ ctx, input }) => {
      await withChangeLog(ctx, (em) => rewrapKeychain(ctx, em, input.entries))
    }),

  /**
   * Replaces all values and the backup at once, because another passkey opens them. Other sessions end, and the links of
   * apps that have the passkey until now, as it opens nothing any more.
   */
  changePasskey: sessionUser
    .meta({ ...about("Wrap the caller's keychain with another passkey."), ...withBodySize('keychain') })
    .input(z.strictObject({ entries: rewrappedEntries, passkeyBackup }))
    .mutation(async ({ ctx, input }) => {
      const { id: userId } = ctx.caller.person
      const { session } = ctx.browser
      if (!session) throw new Problem('signed_out')
      await withChangeLog(ctx, async (em, changes) => {
        await runStatement(em, lockPublicKey, [userId])
        // Other browsers have the key from before, and would add entries that nothing opens.
        await endOtherSessions({ em, changes }, userId, session.handle)
        await endLinksOfOldKeys({ em, changes, userId })
        await rewrapKeychain(ctx, em, input.entries)
        await saveBackup(em, userId, input.passkeyBackup)
      })
      ctx.services.log.info({ userId, requestId: ctx.requestId }, 'a passkey was changed')
    }),
})

interface PersonContext extends Context {
  caller: Extract<Context['caller'], { type: 'user' }>
}

async function rewrapKeychain(
  ctx: PersonContext,
  em: EntityManager,
  entries: z.output<typeof rewrappedEntries>,
): Promise<void> {
  const { id: userId } = ctx.caller.person
  await runStatement(em, lockPublicKey, [userId])
  await replaceAllEntries(em, userId, entries, ctx.services.settings.keychain)
  const { isSalted } = await readKeychainState(em, userId)
  if (isSalted && (await findForm(ctx, createTransactionSql(em))) === 'reference')
    throw new Problem('keychain_rewrapped')
}

/** Apps with keys open keychains by the reference, so whoever has linked one keeps its form. */
async function findForm({ services: { settings }, caller }: PersonContext, sql: Sql): Promise<KeychainForm> {
  const { keychainForm } = settings.public.passkey
  if (keychainForm === 'reference') return 'reference'
  const [link] = await sql(findLinkWithKeys, [caller.person.id])
  return link ? 'reference' : 'salted'
}

/** Throws unless an app can open the keychain. Locks the person's row, so that it stays so until the link is stored. */
export async function assertReferenceForm(em: EntityManager, userId: number): Promise<void> {
  await runStatement(em, lockPublicKey, [userId])
  const { isSalted } = await readKeychainState(em, userId)
  if (isSalted) throw new Problem('keychain_rewrapped')
}
