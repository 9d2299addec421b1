import { UniqueConstraintViolationException } from '@mikro-orm/core'
import { type EntityManager, LockMode } from '@mikro-orm/postgresql'
import { z } from 'zod'
import { PasskeyBackup } from '../../entities/identity/passkey-backup.ts'
import { findKnownUser, findSignInUsers } from '../../entities/identity/user.sql.ts'
import { User } from '../../entities/identity/user.ts'
import { UserKeychainValue } from '../../entities/identity/user-keychain-value.ts'
import { withChangeLog } from '../core/changes.ts'
import type { Context } from '../core/context.ts'
import { Problem } from '../core/problems.ts'
import type { KeychainQuota } from '../core/settings.ts'
import { registeringUser, router, withBodySize } from '../core/trpc.ts'
import type { SessionRecord, SessionSubject } from '../ports/session.ts'
import { lockActiveSession } from './end-sessions.ts'
import { enforceQuota, hasDistinctSlots, keychainEntry, passkeyBackup, publicKey } from './keychain.ts'
import { toUserCaller } from './session-caller.ts'
import { rowId } from './user-selector.ts'

/** Key types without which a passkey cannot be verified and messages cannot be read. */
const requiredKeyTypes = ['public_key', 'private_key'] as const

const firstKeychain = z
  .array(keychainEntry)
  .min(2)
  .max(20, 'must have at most 20 entries')
  .refine(hasDistinctSlots, 'must not have two entries of one key and type')
  .refine(
    (entries) => requiredKeyTypes.every((type) => entries.filter(({ keyType }) => keyType === type).length === 1),
    'must have one public_key and one private_key',
  )

const policy = z.strictObject({
  id: rowId,
  version: z.string().regex(/^[0-9a-f]{64}$/, 'must be the version of a text'),
})

const firstKeys = z.strictObject({ publicKey, keychain: firstKeychain, passkeyBackup, policy: policy.optional() })
type FirstKeys = z.output<typeof firstKeys>

export const registrationRouter = router({
  /** Creates the person, unless the host has, with keys and backup in one transaction. */
  complete: registeringUser
    .meta(withBodySize('first keys'))
    .input(firstKeys)
    .mutation(async ({ ctx, input }) => {
      const { caller, browser } = ctx
      const { session } = browser
      if (caller.type === 'user') throw new Problem('registered_already')
      // The person was deleted, or their session ended, during this request.
      if (!session) throw new Problem('signed_out')
      const quota = ctx.services.settings.keychain
      await withChangeLog(ctx, async (em, changes) => {
        const { user, isNew } = await saveFirstKeys(em, session, { ...input, quota })
        const { id, username: name } = user
        if (isNew) await ctx.services.process.hooks.emitSerial('name-taken', { subject: 'user', id, name, em })
        await ctx.services.process.hooks.emitSerial('user-registered', { userId: user.id, em, policy: input.policy })
        // Somebody with earlier keys may be in rooms, which the new keys cannot open.
        await ctx.services.process.hooks.emitSerial('user-keys-changed', { userId: user.id, em, changes })
      }).catch((error: unknown) => explainDuplicate(ctx, session, error))
      const [knownUser] = await ctx.services.sql(findKnownUser, [caller.username])
      if (!knownUser) throw new Problem('signed_out')
      await browser.replace(knownUser)
      ctx.callerContext.setCaller(toUserCaller(knownUser), 'registration')
      return { id: knownUser.id, redirectUri: '/chat' }
    }),
})

async function saveFirstKeys(
  em: EntityManager,
  { subject, handle, signedInAt }: SessionRecord,
  { publicKey, keychain, passkeyBackup, quota }: FirstKeys & { quota: KeychainQuota },
) {
  // The lock makes sure that only one request gives a person their keys.
  const existingUser = await em.findOne(User, toUserFilter(subject), { lockMode: LockMode.PESSIMISTIC_WRITE })
  await lockActiveSession(em, handle)
  if ('user' in subject && !existingUser) throw new Problem('signed_out')
  const user = existingUser ?? em.create(User, toNewUser(subject))
  if (user.publicKey) throw new Problem('registered_already')
  user.publicKey = publicKey
  user.signedInAt ??= new Date(signedInAt)
  await em.flush()
  await enforceQuota(quota, { em, userId: user.id, member: 'keychain' }, async () => {
    for (const entry of keychain) em.create(UserKeychainValue, { user, ...entry })
    await em.flush()
  })
  em.create(PasskeyBackup, { user, ...passkeyBackup })
  await em.flush()
  return { user, isNew: !existingUser }
}

/**
 * Returns the filter for the registering user. Sessions of earlier versions lack the subject and must sign in again.
 */
function toUserFilter(subject: SessionSubject): { id: number } | { subject: string } {
  if ('user' in subject) return { id: subject.user.id }
  if (subject.registering.subject === undefined) throw new Problem('signed_out')
  return { subject: subject.registering.subject }
}

function toNewUser(subject: SessionSubject) {
  if ('user' in subject) throw new Problem('signed_out')
  const { groups = [], subject: boundSubject = null, username, name, email } = subject.registering
  return { subject: boundSubject, username, name, email, publicKey: null, groups: [...groups] }
}

/** Explains a duplicate: username, address or person were created in another way since the sign-in. */
async function explainDuplicate({ services }: Context, { subject }: SessionRecord, error: unknown): Promise<never> {
  if (!(error instanceof UniqueConstraintViolationException) || 'user' in subject) throw error
  const { registering } = subject
  const rows = await services.sql(findSignInUsers, [registering.subject ?? null, null, registering.username])
  // The person registered in another window.
  if (rows.some((row) => row.subject === registering.subject)) throw new Problem('registered_already', { cause: error })
  const [namesake] = rows
  if (!namesake)
    throw new Problem('conflict', {
      detail: 'There is another account with your e-mail address. Please contact your administrator.',
      cause: error,
    })
  // The host created the person meanwhile; the next sign-in binds them.
  throw new Problem(namesake.subject === null ? 'signed_out' : 'username_taken', { cause: error })
}
