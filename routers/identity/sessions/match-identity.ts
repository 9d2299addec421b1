import { UniqueConstraintViolationException } from '@mikro-orm/core'
import { type EntityManager, LockMode } from '@mikro-orm/postgresql'
import {
  findEmailOwner,
  findSignInUsers,
  type KnownUser,
  type SignInUser,
  setSignedIn,
} from '../../../entities/identity/user.sql.ts'
import { AI_USER_ID, User } from '../../../entities/identity/user.ts'
import { withChangeLog } from '../../core/changes.ts'
import type { Context } from '../../core/context.ts'
import { Problem } from '../../core/problems.ts'
import { runStatement } from '../../core/run-statement.ts'
import { type Identity, sourceOf } from '../../ports/login.ts'
import { renameUser } from '../user-accounts.ts'
import { users } from '../users.ts'

/**
 * Finds the person of a login source's identity by subject, and updates their row from the source. A person without a
 * subject is bound once, by username. Returns undefined if the person is new.
 */
export async function matchIdentity(ctx: Context, identity: Identity): Promise<KnownUser | undefined> {
  const { user, namesake } = await findUsers(ctx, identity)
  // The AI user cannot sign in, whatever a directory says.
  if (namesake?.id === AI_USER_ID || user?.id === AI_USER_ID) throw new Problem('login_failed')
  const matched = user ?? (namesake && canBind(ctx, identity, namesake) ? namesake : undefined)
  if (namesake && namesake.id !== matched?.id) throw createTakenUsernameProblem(ctx, identity, namesake)
  if (!matched) {
    await assertEmailFree(ctx, identity)
    return undefined
  }
  if (matched.disabled) throw new Problem('account_disabled')
  return updateFromSource(ctx, matched, identity)
}

/** Finds the user with the subject and the user with the username. */
async function findUsers(ctx: Context, { subject, formerSubject, username }: Identity) {
  const rows = await ctx.services.sql(findSignInUsers, [subject, formerSubject ?? null, username])
  const findBySubject = (wanted: string | undefined) =>
    rows.find((row) => row.subject !== null && row.subject === wanted)
  return {
    user: findBySubject(subject) ?? findBySubject(formerSubject),
    namesake: rows.find((row) => row.username === username),
  }
}

const canBind = ({ services: { settings } }: Context, { subject }: Identity, namesake: SignInUser): boolean =>
  namesake.subject === null && settings.bindingSource === sourceOf(subject)

function createTakenUsernameProblem(
  ctx: Context,
  { subject }: Identity,
  { id, subject: boundSubject }: SignInUser,
): Problem {
  const details = {
    source: sourceOf(subject),
    userId: id,
    boundTo: boundSubject && sourceOf(boundSubject),
    requestId: ctx.requestId,
  }
  ctx.services.log.warn(
    details,
    boundSubject
      ? 'a sign-in was refused: this user has its username, and is bound to another subject. `svc bind-user` binds the user to this one where it is the same person, `svc rename-user` makes the username free where it is not.'
      : 'a sign-in was refused: this user has its username and is bound to nothing yet, and BIND_EXISTING_FROM does not name its source. `svc bind-user` binds the user.',
  )
  return new Problem('username_taken')
}

/** Refuses an address that is taken, because registration would fail only after the keys were made. */
async function assertEmailFree(ctx: Context, { subject, email }: Identity): Promise<void> {
  const [owner] = await ctx.services.sql(findEmailOwner, [email, 0])
  if (!owner) return
  const details = { source: sourceOf(subject), userId: owner.id, requestId: ctx.requestId }
  ctx.services.log.warn(details, 'a sign-in was refused: this user has its e-mail address')
  throw new Problem('email_taken')
}

/** Updates username, name, address and groups from the source, under a row lock; returns the person after it. */
async function updateFromSource(ctx: Context, matched: SignInUser, identity: Identity): Promise<KnownUser> {
  return withChangeLog(ctx, async (em, changes) => {
    const user = await lockMatched(em, matched, identity)
    const before = { username: user.username, name: user.name }
    user.subject = identity.subject
    user.name = identity.name
    await changeEmail(ctx, em, user, identity.email)
    if (identity.groups && !hasSameGroups(user.groups, identity.groups)) user.groups = [...identity.groups]
    if (user.username !== identity.username) await renameUser(ctx, em, user, identity.username)
    await em.flush()
    const [signedInUser] = await runStatement(em, setSignedIn, [user.id])
    if (!signedInUser) throw new Problem('login_failed')
    if (before.username === user.username && before.name === user.name) return signedInUser
    changes.addRow(users, 'updated', user)
    await ctx.services.process.hooks.emitSerial('user-profile-changed', { userId: user.id, em, changes })
    return signedInUser
  }).catch((error: unknown) => {
    // A concurrent request took the username or was bound to the subject.
    throw error instanceof UniqueConstraintViolationException ? new Problem('login_failed', { cause: error }) : error
  })
}

/** Locks and reloads the user. Throws if they were deleted or bound to another subject since they were looked up. */
async function lockMatched(em: EntityManager, matched: SignInUser, { subject }: Identity): Promise<User> {
  const user = await em.findOne(User, { id: matched.id }, { lockMode: LockMode.PESSIMISTIC_WRITE, refresh: true })
  if (!user || ![matched.subject, subject].includes(user.subject ?? null)) throw new Problem('login_failed')
  return user
}

/** Updates the address. If another user has it, the person keeps the previous one and can still sign in. */
async function changeEmail(ctx: Context, em: EntityManager, user: User, email: string): Promise<void> {
  if (user.email === email) return
  const [owner] = await runStatement(em, findEmailOwner, [email, user.id])
  if (!owner) user.email = email
  else
    ctx.services.log.warn(
      { userId: user.id, ownerId: owner.id, requestId: ctx.requestId },
      'a login source gives a user an e-mail address that another user has; the user keeps the one before',
    )
}

const hasSameGroups = (some: readonly string[], others: readonly string[]) =>
  some.length === others.length && some.every((group, at) => group === others[at])
