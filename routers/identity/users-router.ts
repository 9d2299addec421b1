import { z } from 'zod'
import {
  describeUser,
  findUsers,
  type ListedUser,
  userOrders,
  userSources,
  userStates,
} from '../../entities/identity/user.sql.ts'
import { AI_USER_ID, roles } from '../../entities/identity/user.ts'
import type { ExternalApp } from '../core/caller.ts'
import type { Context } from '../core/context.ts'
import { Problem } from '../core/problems.ts'
import {
  about,
  adminSession,
  host,
  isAdministrator,
  middleware,
  router,
  userOrAppWith,
  userWith,
  withBodySize,
} from '../core/trpc.ts'
import { exposeAs } from '../resource/exposure.ts'
import { resourceId } from '../resource/ids.ts'
import type { RecordOf, UpdateInput } from '../resource/record.ts'
import { action, member, memberAction } from '../verbs/action.ts'
import { changesInput, followChanges, followInput, readChangesSince } from '../verbs/change-feed.ts'
import { dropUnchanged } from '../verbs/drop-unchanged.ts'
import { lockRow } from '../verbs/lock-row.ts'
import { defineReads, getRow } from '../verbs/read.ts'
import { sensitiveAdministrator, updateRow, type WrittenRow } from '../verbs/write.ts'
import { buildUpdateInput, ifVersion, type RowChange } from '../verbs/write-inputs.ts'
import { endAccess, endSessions } from './end-sessions.ts'
import { eraseUser } from './erase-user.ts'
import { findPeople, peopleQuery } from './find-people.ts'
import { pictureSize, readPicture, toPictureKey } from './pictures/picture-files.ts'
import { replacePicture } from './pictures/pictures.ts'
import { followSeenAssistants } from './seen-assistants.ts'
import { assertAdministratorLeft } from './user-accounts.ts'
import { findUser, userSelector } from './user-selector.ts'
import { consumeProfileChange, users } from './users.ts'

type UserChange = UpdateInput<typeof users>

/** Allows people to update themselves, and administrators to change anybody's role and disabled state. */
const mayUpdateUser = middleware(({ ctx, input, next }) => {
  const { id, role, disabled, displayName, bio, avatar } = input as UserChange
  const { current } = ctx.callerContext
  const person = current.type === 'user' ? current.person : undefined
  const isOwn = person?.id === Number(id)
  if (Number(id) === AI_USER_ID) throw new Problem('read_only')
  if ((role !== undefined || disabled !== undefined) && !isAdministrator(current)) throw new Problem('admin_only')
  if (!isOwn && [displayName, bio, avatar].some((value) => value !== undefined)) throw new Problem('read_only')
  return next()
})

/** Updates a person and, if given, their picture. */
async function updateUser(ctx: Context, { avatar: image, ...change }: UserChange) {
  const { id, ifVersion: _, role: __, disabled: ___, ...visibleChanges } = change
  if (image !== undefined || Object.keys(visibleChanges).length > 0) await consumeProfileChange(ctx, Number(id))
  const { avatar } = await getRow(ctx, users, change.id)
  if (image === undefined) return writeUser(ctx, change)
  const before = avatar && toPictureKey(avatar)
  return replacePicture(ctx, { before, image, write: (avatar) => writeUser(ctx, { ...change, avatar }) })
}

const writeUser = (ctx: Context, change: RowChange) =>
  updateRow(ctx, users, change, { afterFlush: (written) => afterFlush(ctx, written) })

/** Runs after the update; `input` contains only the changed members. */
async function afterFlush(ctx: Context, { em, changes, row, input }: WrittenRow): Promise<void> {
  const { role, disabled, ...visibleChanges } = input
  if (disabled) await endAccess({ em, changes }, row.id)
  if (disabled || role !== undefined) await endSessions({ em, changes }, row.id)
  if (disabled || role === 'user') await assertAdministratorLeft(ctx, em)
  if (Object.keys(visibleChanges).length > 0)
    await ctx.services.process.hooks.emitSerial('user-profile-changed', { userId: row.id, em, changes })
}

const userFilters = z.strictObject({
  text: z.string().max(254).default(''),
  role: z.enum(roles).optional(),
  group: z.string().max(200).optional(),
  state: z.enum(userStates).optional(),
  source: z.enum(userSources).optional(),
  order: z.enum(userOrders).default('username'),
  page: z.int().min(1).max(1_000_000).default(1),
  size: z.int().min(1).max(1000).default(100),
})

export const usersRouter = router({
  ...defineReads(users),

  me: member(users, 'me', userOrAppWith('user'))
    .meta(about('Read the caller. An external app has the id 0, for it has no account.'))
    .input(z.strictObject({ include: z.array(z.never()).max(1).optional() }).prefault({}))
    .query(async ({ ctx }): Promise<RecordOf<typeof users>> => {
      const { caller } = ctx
      return caller.type === 'user' ? getRow(ctx, users, String(caller.person.id)) : toAppUser(caller)
    }),

  changesSince: memberAction(users, 'me', 'changes', userWith('read'))
    .meta(about("Read the changes in the caller's rooms, invitations and private conversations since a position."))
    .input(changesInput)
    .query(({ ctx, input }) => readChangesSince(ctx, `user:${ctx.caller.person.id}`, input.page?.after)),

  changes: userWith('read')
    .meta(
      about(
        "Follow the changes in the caller's rooms, invitations and private conversations. A passing event says that assistants have changed which the caller may see.",
      ),
    )
    .input(followInput.prefault({}))
    .subscription(({ ctx, input: { lastEventId: after } }) =>
      followChanges(ctx, {
        stream: `user:${ctx.caller.person.id}`,
        after,
        admit: async () => () => false,
        followBeside: (report) => followSeenAssistants(ctx, after !== undefined, report),
      }),
    ),

  picture: userWith('read')
    .meta(about('Read the picture of somebody the caller knows, as WebP.'))
    .input(z.strictObject({ id: resourceId, size: pictureSize }))
    .query(async ({ ctx, input }) => {
      const { avatar } = await getRow(ctx, users, input.id)
      if (!avatar) throw new Problem('not_found', { detail: 'This user has no picture.' })
      return readPicture(ctx.services, toPictureKey(avatar), input.size)
    }),

  update: userWith('write')
    .meta({ ...exposeAs(users, 'update'), ...withBodySize('picture') })
    .use(dropUnchanged(users))
    .input(buildUpdateInput(users))
    .use(mayUpdateUser)
    .mutation(({ ctx, input }): Promise<RecordOf<typeof users>> => updateUser(ctx, input as UserChange)),

  delete: sensitiveAdministrator
    .meta(exposeAs(users, 'delete'))
    .input(z.strictObject({ id: resourceId, ifVersion }))
    .mutation(async ({ ctx, input: { id, ifVersion } }) => {
      if (Number(id) === AI_USER_ID) throw new Problem('read_only')
      const user = await findUser(ctx, { id: Number(id) })
      return {
        id,
        report: await eraseUser(ctx, user, (em) => lockRow(ctx, em, users, { id, ifVersion, verb: 'delete' })),
      }
    }),

  /** A mutation, so that the search text is sent by POST and appears in no URL or log. */
  findPeople: action(users, 'search', userWith('read'))
    .meta(about('Find people to invite: `meta.people` has five at most, with their public keys.'))
    .input(peopleQuery)
    .mutation(async ({ ctx, input }) => ({
      meta: { people: await findPeople(ctx, ctx.caller.person.id, input.query) },
    })),

  /** Finds people by part of their username, name or e-mail address, page by page. */
  search: adminSession.input(userFilters).query(async ({ ctx, input }) => {
    const { text, role = null, group = null, state = null, source = null, order, page, size } = input
    // One row more than shown tells whether there is a next page.
    const values = [text, role, group, state, source, size + 1, (page - 1) * size]
    const users: ListedUser[] = await ctx.services.sql(findUsers(order), values)
    return { users: users.slice(0, size), hasMore: users.length > size }
  }),

  /** Details of a person for support. */
  show: adminSession.input(z.strictObject({ user: userSelector })).query(async ({ ctx, input }) => {
    const { id, username } = await findUser(ctx, input.user)
    const since = new Date(Date.now() - ctx.services.settings.sessionLifetime)
    const [details] = await ctx.services.sql(describeUser, [id, since])
    if (!details) throw new Problem('not_found')
    return { ...details, localAccount: await ctx.services.login.localAccounts.has(username) }
  }),

  find: host.input(z.strictObject({ user: userSelector })).query(async ({ ctx, input }) => {
    const { id, username, name } = await findUser(ctx, input.user)
    return { id, username, name }
  }),
})

/** Returns the record of an app in the format of a user. No person can have such a username. */
const toAppUser = ({ name, createdAt, updatedAt }: ExternalApp): RecordOf<typeof users> => ({
  id: '0',
  displayName: name,
  username: `APP: ${name}`,
  bio: null,
  avatar: null,
  publicKey: null,
  createdAt,
  updatedAt,
  relations: {},
})
