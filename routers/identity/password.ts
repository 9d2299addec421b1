import { raw } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/postgresql'
import { z } from 'zod'
import { AI_USER_ID, User } from '../../entities/identity/user.ts'
import { withChangeLog } from '../core/changes.ts'
import type { Context } from '../core/context.ts'
import { Problem } from '../core/problems.ts'
import { about, router, sensitiveAdmin, sessionUser } from '../core/trpc.ts'
import { sourceOf } from '../ports/login.ts'
import { endOtherSessions, signOutEverywhere } from './end-sessions.ts'
import { findUser, userSelector } from './user-selector.ts'

const MAX_LENGTH = 1024

export const newPassword = z
  .string()
  .min(8, 'must have at least 8 characters')
  .max(MAX_LENGTH, `must have at most ${MAX_LENGTH} characters`)

const passwordChange = z.strictObject({
  currentPassword: z.string().min(1, 'must not be empty').max(MAX_LENGTH, `must have at most ${MAX_LENGTH} characters`),
  newPassword,
})

const MAX_ATTEMPTS = 10
const WINDOW_SECONDS = 15 * 60

/** Passwords of local accounts. */
export const passwordRouter = router({
  /** Tells whether the person has a local password that they can change. */
  state: sessionUser.query(async ({ ctx }) => {
    const { localAccounts } = ctx.services.login
    return { canChange: localAccounts.inUse && (await localAccounts.has(ctx.caller.person.username)) }
  }),

  /** Changes the caller's password. Their other sessions and the access of their programs end; this session gets a new id. */
  change: sessionUser.input(passwordChange).mutation(async ({ ctx, input }) => {
    const { id, username, email } = ctx.caller.person
    const { session } = ctx.browser
    const user = session && 'user' in session.subject && session.subject.user
    if (!session || !user) throw new Problem('signed_out')
    if (!ctx.services.login.localAccounts.inUse || !(await ctx.services.login.localAccounts.has(username)))
      throw createNoAccount()
    assertNotGuessable(input.newPassword, [username, email, input.currentPassword])
    await verifyCurrentPassword(ctx, username, input.currentPassword, id)
    await withChangeLog(ctx, async (em, changes) => {
      // Fails if the password was changed after the session was looked up, even by this session.
      const { passwordChangedAt } = user
      if (!(await recordPasswordChange(em, { id, passwordChangedAt }))) throw new Problem('signed_out')
      await endOtherSessions({ em, changes }, id, session.handle)
      await ctx.services.process.hooks.emitSerial('user-signed-out', { userId: id, em, changes })
      if (!(await ctx.services.login.localAccounts.setPassword(username, input.newPassword))) throw createNoAccount()
    })
    ctx.services.log.info({ userId: id, requestId: ctx.requestId }, 'a password was changed')
    await ctx.browser.replace(user)
  }),

  set: sensitiveAdmin
    .meta(
      about(
        "Set a person's password, and create their account if needed. All their sessions and the access of their programs end.",
      ),
    )
    .input(z.strictObject({ user: userSelector, password: newPassword }))
    .mutation(async ({ ctx, input: { user: selector, password } }) => {
      const { id, username, email, name, subject } = await findUser(ctx, selector)
      if (id === AI_USER_ID) throw new Problem('invalid', { detail: 'The AI user has no password.' })
      assertLocalAccounts(ctx)
      assertNotGuessable(password, [username, email])
      await withChangeLog(ctx, async (em, changes) => {
        if (!(await recordPasswordChange(em, { id })))
          throw new Problem('not_found', { detail: `There is no user ${username} any more.` })
        await signOutEverywhere(ctx, { em, changes }, id)
        if (await ctx.services.login.localAccounts.setPassword(username, password)) return
        if (subject && sourceOf(subject) !== 'local') throw createBoundElsewhere(username, subject)
        const boundSubject = await ctx.services.login.localAccounts.add({ username, email, name }, password)
        await em.nativeUpdate(User, { id }, { subject: boundSubject })
      })
      return { id, username }
    }),
})

/** Throws if local accounts are switched off. */
export function assertLocalAccounts({ services }: Context): void {
  if (services.login.localAccounts.inUse) return
  throw new Problem('invalid', {
    detail: 'Nobody signs in with a local account here: AUTHENTICATION_METHOD lacks local.',
  })
}

const createBoundElsewhere = (username: string, subject: string) =>
  new Problem('conflict', {
    detail: `${username} signs in by ${sourceOf(subject)}. Run \`svc bind-user\` for them first, which lets them sign in by another source.`,
  })

const createNoAccount = () => new Problem('not_found', { detail: 'You have no password here that could be changed.' })

/** Rejects passwords that anybody would try first. */
export function assertNotGuessable(password: string, knownTexts: readonly string[]): void {
  if (!knownTexts.some((text) => text.toLowerCase() === password.toLowerCase())) return
  const message = 'must differ from username, e-mail address and current password'
  throw new Problem('invalid', { detail: `The new password ${message}.`, issues: [{ path: ['newPassword'], message }] })
}

interface PasswordOwner {
  id: number
  /** Expected value; undefined if any value will do. */
  passwordChangedAt?: string | null
}

/**
 * Marks the password as changed, so that concurrent logins with the old one fail. Returns false if the person no longer
 * exists; otherwise their row is locked.
 */
async function recordPasswordChange(
  em: EntityManager,
  { id, passwordChangedAt: knownChange }: PasswordOwner,
): Promise<boolean> {
  const owner = knownChange === undefined ? { id } : { id, passwordChangedAt: knownChange && new Date(knownChange) }
  return (await em.nativeUpdate(User, owner, { passwordChangedAt: raw('now()') })) > 0
}

/** Verifies the current password with a limit on attempts, so that an open session cannot be used for guessing. */
async function verifyCurrentPassword(ctx: Context, username: string, password: string, id: number): Promise<void> {
  const key = `password-change:${id}`
  const allowance = await ctx.services.limits.limiter.consume(key, MAX_ATTEMPTS, WINDOW_SECONDS)
  if (allowance.remaining < 0) {
    ctx.notes.setRateLimit(allowance)
    throw new Problem('too_many_requests', {
      detail: 'Too many attempts to change the password. Try again later.',
    })
  }
  if (!(await ctx.services.login.localAccounts.verify(username, password))) throw new Problem('wrong_password')
  await ctx.services.limits.limiter.clear(key, MAX_ATTEMPTS, WINDOW_SECONDS)
}
