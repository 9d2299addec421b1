import { UniqueConstraintViolationException } from '@mikro-orm/core'
import { LockMode } from '@mikro-orm/postgresql'
import { z } from 'zod'
import { setGroups } from '../../entities/identity/user.sql.ts'
import { AI_USER_ID, roles, User } from '../../entities/identity/user.ts'
import { runInTransaction, withChangeLog } from '../core/changes.ts'
import { type Context, describeActor } from '../core/context.ts'
import { Problem } from '../core/problems.ts'
import { runStatement } from '../core/run-statement.ts'
import { about, host, router, sensitiveAdmin } from '../core/trpc.ts'
import { groupNames, subject, username } from '../ports/login.ts'
import { endAccess, endSessions } from './end-sessions.ts'
import { eraseUser } from './erase-user.ts'
import { assertLocalAccounts, assertNotGuessable, newPassword } from './password.ts'
import { imageBytes, storeAvatar } from './pictures/pictures.ts'
import { addPerson, assertAdministratorLeft, newPerson, refuseDuplicate, renameUser } from './user-accounts.ts'
import { findUser, userSelector } from './user-selector.ts'
import { users } from './users.ts'

const newUser = newPerson.extend({ password: newPassword.optional() })

/** Administration of people, in the browser or on the host. */
export const adminRouter = router({
  addUser: sensitiveAdmin
    .meta(about('Add a person; with a password, also their local account.'))
    .input(newUser)
    .mutation(async ({ ctx, input: { password, role = 'user', ...input } }) => {
      if (password !== undefined) {
        assertLocalAccounts(ctx)
        assertNotGuessable(password, [input.username, input.email])
      }
      const id = await runInTransaction(ctx, undefined, async (em) => {
        const user = await addPerson(ctx, em, { ...input, role })
        if (password !== undefined) user.subject = await ctx.services.login.localAccounts.add(input, password)
        return user.id
      })
      return { id, ...input, role }
    }),

  setRole: sensitiveAdmin
    .meta(about('Make a person an administrator, or no longer one.'))
    .input(z.strictObject({ user: userSelector, role: z.enum(roles) }))
    .mutation(async ({ ctx, input: { user: selector, role } }) => {
      const { id, username, role: before } = await findPerson(ctx, selector)
      ctx.auditedCall?.recordChange({ before: { role: before }, after: { role } })
      await withChangeLog(ctx, async (em, changes) => {
        const other = { id, role: { $ne: role } }
        if (await em.nativeUpdate(User, other, { role, updatedAt: new Date() })) await endSessions({ em, changes }, id)
        if (role === 'user') await assertAdministratorLeft(ctx, em)
      })
      return { id, username, role }
    }),

  setGroups: sensitiveAdmin
    .meta(about("Replace a person's groups. A login source with groups does the same at each sign-in."))
    .input(z.strictObject({ user: userSelector, groups: groupNames }))
    .mutation(async ({ ctx, input: { user: selector, groups } }) => {
      const { id, username, groups: before } = await findPerson(ctx, selector)
      ctx.auditedCall?.recordChange({ before: { groups: before }, after: { groups } })
      await withChangeLog(ctx, async (em, changes) => {
        await runStatement(em, setGroups, [id, groups])
        changes.add([`user:${id}`], 'updated', 'users', id)
      })
      return { id, username, groups }
    }),

  setDisabled: sensitiveAdmin
    .meta(about('Disable or enable a person; their data stays.'))
    .input(z.strictObject({ user: userSelector, disabled: z.boolean() }))
    .mutation(async ({ ctx, input: { user: selector, disabled } }) => {
      const { id, username, disabled: before } = await findPerson(ctx, selector, 'The AI user stays as it is.')
      ctx.auditedCall?.recordChange({ before: { disabled: before }, after: { disabled } })
      await withChangeLog(ctx, async (em, changes) => {
        const other = { id, disabled: { $ne: disabled } }
        const changed = await em.nativeUpdate(User, other, { disabled, updatedAt: new Date() })
        if (!changed || !disabled) return
        await endAccess({ em, changes }, id)
        await endSessions({ em, changes }, id)
        await assertAdministratorLeft(ctx, em)
      })
      ctx.services.log.info({ ...describeActor(ctx), userId: id, disabled }, 'a user was disabled or enabled')
      return { id, username, disabled }
    }),

  endSessions: sensitiveAdmin
    .meta(about('End all sessions of a person; their tokens stay.'))
    .input(z.strictObject({ user: userSelector }))
    .mutation(async ({ ctx, input: { user: selector } }) => {
      const { id, username } = await findPerson(ctx, selector, 'The AI user has no sessions.')
      const ended = await withChangeLog(ctx, (em, changes) => endSessions({ em, changes }, id))
      return { id, username, ended }
    }),

  renameUser: sensitiveAdmin
    .meta(
      about('Rename a person and their local account. Their next sign-in sets the username of the login source again.'),
    )
    .input(z.strictObject({ user: userSelector, to: username }))
    .mutation(async ({ ctx, input: { user: selector, to } }) => {
      const { id } = await findPerson(ctx, selector, 'The AI user stays as it is.')
      await withChangeLog(ctx, async (em, changes) => {
        const user = await em.findOneOrFail(User, id, { lockMode: LockMode.PESSIMISTIC_WRITE, refresh: true })
        // A concurrent request may have renamed the person since they were looked up.
        const { username: from } = user
        if (from === to) return
        ctx.auditedCall?.recordChange({ before: { username: from }, after: { username: to } })
        await renameUser(ctx, em, user, to).catch(refuseDuplicate)
        changes.addRow(users, 'updated', user)
        await ctx.services.process.hooks.emitSerial('user-profile-changed', { userId: id, em, changes })
        // Rename the account last: if that fails, the transaction rolls back.
        if (await hasOwnAccount(ctx, user.subject ?? null, from))
          await ctx.services.login.localAccounts.rename(from, to)
      })
      return { id, username: to }
    }),

  /**
   * Binds a person to a subject and replaces the previous one. Without a subject, the next sign-in binds them by
   * username.
   */
  bindUser: host
    .input(z.strictObject({ user: userSelector, subject: subject.optional() }))
    .mutation(async ({ ctx, input: { user: selector, subject: boundSubject = null } }) => {
      const { id, username, subject: before } = await findPerson(ctx, selector, 'The AI user stays as it is.')
      ctx.auditedCall?.recordChange({ before: { subject: before }, after: { subject: boundSubject } })
      await withChangeLog(ctx, async (em, changes) => {
        const other = { id, $or: [{ subject: { $ne: boundSubject } }, { subject: null }] }
        const changed = await em
          .nativeUpdate(User, other, { subject: boundSubject, updatedAt: new Date() })
          .catch(refuseBoundSubject)
        // Sign out whoever used this account until now.
        if (changed) await endSessions({ em, changes }, id)
      })
      ctx.services.log.info(
        { ...describeActor(ctx), userId: id, isBound: boundSubject !== null },
        'a user was bound anew',
      )
      return { id, username, subject: boundSubject }
    }),

  removeUser: sensitiveAdmin
    .meta(about('Remove a person and their data.'))
    .input(z.strictObject({ user: userSelector }))
    .mutation(async ({ ctx, input }) => {
      const user = await findUser(ctx, input.user)
      const { id, username } = user
      return { id, username, report: await eraseUser(ctx, user) }
    }),

  /** State that the start depends on. */
  state: host.query(async ({ ctx }) => {
    const people = await ctx.em().count(User, { id: { $ne: AI_USER_ID } })
    return { hasPeople: people > 0 }
  }),

  /** The image is base64. */
  updateAiAvatar: host.input(z.strictObject({ image: imageBytes })).mutation(async ({ ctx, input }) => {
    const user = await findUser(ctx, { id: AI_USER_ID })
    return { avatar: await storeAvatar(ctx, user, Buffer.from(input.image, 'base64')) }
  }),
})

async function findPerson(
  ctx: Context,
  selector: z.output<typeof userSelector>,
  refusal = 'The AI user has no role.',
): Promise<User> {
  const user = await findUser(ctx, selector)
  if (user.id === AI_USER_ID) throw new Problem('invalid', { detail: refusal })
  return user
}

/**
 * True if the local account of this username belongs to the person. Unbound people own the account of their username.
 */
const hasOwnAccount = async ({ services }: Context, subject: string | null, username: string) =>
  subject === null ? services.login.localAccounts.inUse : services.login.localAccounts.knows(username, subject)

function refuseBoundSubject(error: unknown): never {
  if (!(error instanceof UniqueConstraintViolationException)) throw error
  throw new Problem('conflict', { detail: 'Another user is bound to this subject already.' })
}
