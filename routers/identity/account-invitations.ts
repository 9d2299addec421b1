import { raw } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/postgresql'
import { z } from 'zod'
import {
  endAccountInvitation,
  findInvited,
  type InvitedPerson,
  listAccountInvitations,
  putAccountInvitation,
  useAccountInvitation,
} from '../../entities/identity/account-invitation.ts'
import { generateSecret, hashSecret } from '../../entities/identity/token-format.ts'
import { AI_USER_ID, User } from '../../entities/identity/user.ts'
import { runInTransaction } from '../core/changes.ts'
import type { Context } from '../core/context.ts'
import { consumeRateLimit } from '../core/load/rate-limit.ts'
import { Problem } from '../core/problems.ts'
import { runStatement } from '../core/run-statement.ts'
import { about, adminSession, browserProcedure, router, sensitiveAdmin } from '../core/trpc.ts'
import { sourceOf } from '../ports/login.ts'
import { assertLocalAccounts, assertNotGuessable, newPassword } from './password.ts'
import { addPerson, newPerson } from './user-accounts.ts'
import { findUser, userSelector } from './user-selector.ts'

const LIFETIME_MS = 72 * 60 * 60_000

/** Maximum attempts per minute from one address. */
const ATTEMPTS_PER_MINUTE = 20

const secret = z.string().regex(/^[A-Za-z0-9]{1,100}$/, 'is no secret of an invitation')
const invitee = z.union([z.strictObject({ user: userSelector }), newPerson])

/** Invitation links by which people set the password of their local account. Only the hash of a link is stored. */
export const accountInvitationsRouter = router({
  create: sensitiveAdmin
    .meta(
      about(
        'Invite a new person, or an existing one without an account. The link is returned once and replaces the previous one.',
      ),
    )
    .input(invitee)
    .mutation(async ({ ctx, input }) => {
      assertLocalAccounts(ctx)
      const secret = generateSecret()
      const expiresAt = new Date(Date.now() + LIFETIME_MS)
      const existingUser = 'user' in input ? await findUser(ctx, input.user) : undefined
      if (existingUser) await assertInvitable(ctx, existingUser)
      else if (!('user' in input)) await assertNoAccount(ctx, input.username)
      const person = await runInTransaction(ctx, undefined, async (em) => {
        const { id, username } = existingUser ?? (await addPerson(ctx, em, input as z.output<typeof newPerson>))
        await runStatement(em, putAccountInvitation, [id, hashSecret(secret), expiresAt])
        return { id, username }
      })
      return {
        ...person,
        link: `${ctx.services.settings.baseUrl}/invitation#${secret}`,
        expiresAt: expiresAt.toISOString(),
      }
    }),

  list: adminSession.query(({ ctx }) => ctx.services.sql(listAccountInvitations)),

  end: sensitiveAdmin
    .meta(about('End the invitation of a person.'))
    .input(z.strictObject({ user: userSelector }))
    .mutation(async ({ ctx, input }) => {
      const { id, username } = await findUser(ctx, input.user)
      const [ended] = await ctx.services.sql(endAccountInvitation, [id])
      if (!ended) throw new Problem('not_found', { detail: `${username} has no invitation that could end.` })
      return { id, username }
    }),

  /** A mutation, so that the secret is sent by POST and appears in no URL or log. */
  open: browserProcedure
    .meta(about('Read the account that the link of an invitation is for.'))
    .input(z.strictObject({ secret }))
    .mutation(async ({ ctx, input }) => {
      await consumeAttempt(ctx)
      const [person] = await ctx.services.sql(findInvited, [hashSecret(input.secret)])
      if (!person) throw new Problem('invitation_invalid')
      await assertCanSetPassword(ctx, person)
      const { username, name } = person
      return { username, name }
    }),

  /** Works once. The person then signs in with the new password. */
  accept: browserProcedure
    .meta(about('Set the password of a new account by the link of an invitation.'))
    .input(z.strictObject({ secret, password: newPassword }))
    .mutation(async ({ ctx, input: { secret, password } }) => {
      await consumeAttempt(ctx)
      const username = await runInTransaction(ctx, undefined, async (em) => {
        const [person] = await runStatement(em, useAccountInvitation, [hashSecret(secret)])
        if (!person) throw new Problem('invitation_invalid')
        ctx.auditedCall?.setSubject(`user:${person.id}`)
        assertNotGuessable(password, [person.username, person.email])
        await assertCanSetPassword(ctx, person)
        await setPassword(ctx, em, person, password)
        return person.username
      })
      return { username }
    }),
})

const consumeAttempt = (ctx: Context & { browser: { address: string } }) =>
  consumeRateLimit(ctx, [`account-invitation:${ctx.browser.address}`], ATTEMPTS_PER_MINUTE)

async function setPassword(ctx: Context, em: EntityManager, person: InvitedPerson, password: string): Promise<void> {
  const { id, username, email, name } = person
  const change = { passwordChangedAt: raw('now()'), updatedAt: new Date() }
  await em.nativeUpdate(User, { id }, change)
  // Create the account late: if that fails, the transaction rolls back and the link still works.
  const subject = await ctx.services.login.localAccounts.add({ username, email, name }, password)
  await em.nativeUpdate(User, { id }, { subject })
}

async function assertCanSetPassword(ctx: Context, { username, disabled }: InvitedPerson): Promise<void> {
  assertLocalAccounts(ctx)
  if (disabled) throw new Problem('account_disabled')
  if (await ctx.services.login.localAccounts.has(username)) throw new Problem('account_exists')
}

async function assertNoAccount({ services }: Context, username: string): Promise<void> {
  if (!(await services.login.localAccounts.has(username))) return
  const detail = `${username} has an account with a password already. Give them a new one with set-password.`
  throw new Problem('account_exists', { detail })
}

async function assertInvitable(ctx: Context, { id, username, subject }: User): Promise<void> {
  if (id === AI_USER_ID) throw new Problem('invalid', { detail: 'The AI user has no account.' })
  await assertNoAccount(ctx, username)
  if (!subject || sourceOf(subject) === 'local') return
  throw new Problem('conflict', { detail: `${username} signs in by ${sourceOf(subject)}, and needs no password here.` })
}
