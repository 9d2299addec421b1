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
import { holdSession } from './end-sessions.ts'
import { distinctSlots, keychainEntry, passkeyBackup, publicKey, withinQuota } from './keychain.ts'
import { callerOfUser } from './session-caller.ts'
import { resourceId } from './user-selector.ts'

/** Without these nobody could tell a right passkey from a wrong one, or read what was sent. */
const needed = ['public_key', 'private_key'] as const

const firstKeychain = z
  .array(keychainEntry)
  .min(2)
  .max(20, 'must have at most 20 entries')
  .refine(distinctSlots, 'must not have two entries of one key and type')
  .refine(
    (entries) => needed.every((type) => entries.filter(({ keyType }) => keyType === type).length === 1),
    'must have one public_key and one private_key',
  )

const policy = z.strictObject({
  id: resourceId,
  version: z.string().regex(/^[0-9a-f]{64}$/, 'must be the version of a text'),
})

const firstKeys = z.strictObject({ publicKey, keychain: firstKeychain, passkeyBackup, policy: policy.optional() })
type FirstKeys = z.output<typeof firstKeys>

export const registrationRouter = router({
  /** Makes the person, unless the host did, with keys and backup: all of it or nothing. */
  complete: registeringUser
    .meta(withBodySize('first keys'))
    .input(firstKeys)
    .mutation(async ({ ctx, input }) => {
      const { caller, browser } = ctx
      const { session } = browser
      if (caller.type === 'user') throw new Problem('registered_already')
      // Somebody removed the person, or ended their session, between two lines.
      if (!session) throw new Problem('signed_out')
      const quota = ctx.services.settings.keychain
      await withChangeLog(ctx, async (em, changes) => {
        const { user, isNew } = await keep(em, session, { ...input, quota })
        const { id, username: name } = user
        if (isNew) await ctx.services.hooks.emitSerial('name-taken', { subject: 'user', id, name, em })
        await ctx.services.hooks.emitSerial('user-registered', { userId: user.id, em, policy: input.policy })
        // Whoever made keys before may be in rooms, and can open none of them now.
        await ctx.services.hooks.emitSerial('user-keys-changed', { userId: user.id, em, changes })
      }).catch((error: unknown) => explainDuplicate(ctx, session, error))
      const [known] = await ctx.services.sql(findKnownUser, [caller.username])
      if (!known) throw new Problem('signed_out')
      await browser.replace(known)
      ctx.callerContext.setCaller(callerOfUser(known), 'registration')
      return { id: known.id, redirectUri: '/chat' }
    }),
})

async function keep(
  em: EntityManager,
  { subject, handle, signedInAt }: SessionRecord,
  { publicKey, keychain, passkeyBackup, quota }: FirstKeys & { quota: KeychainQuota },
) {
  // Only one at a time may give a person their keys.
  const found = await em.findOne(User, toOwner(subject), { lockMode: LockMode.PESSIMISTIC_WRITE })
  await holdSession(em, handle)
  if ('user' in subject && !found) throw new Problem('signed_out')
  const user = found ?? em.create(User, newcomer(subject))
  if (user.publicKey) throw new Problem('registered_already')
  user.publicKey = publicKey
  user.signedInAt ??= new Date(signedInAt)
  await em.flush()
  await withinQuota(quota, { em, userId: user.id, member: 'keychain' }, async () => {
    for (const entry of keychain) em.create(UserKeychainValue, { user, ...entry })
    await em.flush()
  })
  em.create(PasskeyBackup, { user, ...passkeyBackup })
  await em.flush()
  return { user, isNew: !found }
}

/** A session that an earlier version began says of a newcomer only what may change: they sign in again. */
function toOwner(subject: SessionSubject): { id: number } | { subject: string } {
  if ('user' in subject) return { id: subject.user.id }
  if (subject.registering.subject === undefined) throw new Problem('signed_out')
  return { subject: subject.registering.subject }
}

function newcomer(subject: SessionSubject) {
  if ('user' in subject) throw new Problem('signed_out')
  const { groups = [], subject: bound = null, username, name, email } = subject.registering
  return { subject: bound, username, name, email, publicKey: null, groups: [...groups] }
}

/** The username, the address or the person themselves came in another way since the sign-in. */
async function explainDuplicate({ services }: Context, { subject }: SessionRecord, error: unknown): Promise<never> {
  if (!(error instanceof UniqueConstraintViolationException) || 'user' in subject) throw error
  const { registering } = subject
  const rows = await services.sql(findSignInUsers, [registering.subject ?? null, null, registering.username])
  // In another window.
  if (rows.some((row) => row.subject === registering.subject)) throw new Problem('registered_already', { cause: error })
  const [namesake] = rows
  if (!namesake)
    throw new Problem('conflict', {
      detail: 'There is another account with your e-mail address. Please contact your administrator.',
      cause: error,
    })
  // The next sign-in binds the person whom the host has made meanwhile.
  throw new Problem(namesake.subject === null ? 'signed_out' : 'username_taken', { cause: error })
}
