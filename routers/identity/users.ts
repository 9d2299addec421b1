import { z } from 'zod'
import { aiPictureIdentifier, pictureIdentifier } from '../../entities/identity/picture.ts'
import { describeUser, findUsers, type ListedUser } from '../../entities/identity/user.sql.ts'
import { AI_USER_ID, knownUsers, roles, User } from '../../entities/identity/user.ts'
import { everyRowForAdmins, type SqlPredicate } from '../../entities/sql/scope.ts'
import { takes } from '../core/body-size.ts'
import type { ExternalApp } from '../core/caller.ts'
import type { Context } from '../core/context.ts'
import { Problem } from '../core/problems.ts'
import { about, host, isAdministrator, middleware, router, userOrAppWith, userWith } from '../core/trpc.ts'
import { personName } from '../ports/login.ts'
import { attribute, resource, sortedTimestamps, timestamps } from '../resource/declare.ts'
import { exposes } from '../resource/exposure.ts'
import { resourceId } from '../resource/ids.ts'
import type { RecordOf, UpdateInput } from '../resource/record.ts'
import { action, member, memberAction } from '../verbs/action.ts'
import { changesInput, changesSince } from '../verbs/changes.ts'
import { followChanges, followInput } from '../verbs/follow-changes.ts'
import { lockRow } from '../verbs/lock.ts'
import { getRow, reads } from '../verbs/read.ts'
import { withoutUnchanged } from '../verbs/unchanged.ts'
import { administrator, updateRow, type WrittenRow } from '../verbs/write.ts'
import { ifVersion, type RowChange, updateInput } from '../verbs/write-inputs.ts'
import { endSessions } from './end-sessions.ts'
import { eraseUser } from './erase-user.ts'
import { findPeople, peopleQuery } from './find-people.ts'
import { keyOfPicture, pictureSize, readPicture } from './pictures/picture-files.ts'
import { imageBytes, replacePicture } from './pictures/pictures.ts'
import { consumeProfileChange } from './profile-changes.ts'
import { findUser, userChoice } from './user-selector.ts'

/** A column that others than administrators see of themselves only. */
const ofOneself =
  (column: string): SqlPredicate =>
  (u, sql) =>
    sql.unrestricted ? `${u}.${column}` : `case when ${u}.id = ${sql.param('viewer')} then ${u}.${column} end`

/** The AI user is never without a picture. */
const pictureOf: SqlPredicate = (u) =>
  `case when ${u}.id = ${AI_USER_ID} then ${aiPictureIdentifier(`${u}.avatar`)}
    else ${pictureIdentifier('profile_avatars', `${u}.avatar`)} end`

export const users = resource({
  type: 'users',
  about: 'The people whom the caller knows: themselves, the AI user, and whoever shares a room with them.',
  entity: User,
  scope: knownUsers,
  mayUpdate: everyRowForAdmins((user, sql) => `${user}.id = ${sql.param('viewer')}`),
  attributes: {
    displayName: attribute(personName.describe('The name that people see.'), {
      property: 'name',
      write: 'update',
      sort: true,
    }),
    username: attribute(z.string().describe('Unique.'), { sort: true }),
    email: attribute(z.email().describe('Only of oneself; administrators see all.'), {
      sparse: true,
      sql: ofOneself('email'),
    }),
    bio: attribute(z.string().max(2000).nullable().describe('What the person says of themselves.'), {
      write: 'update',
    }),
    avatar: attribute(z.string().nullable().describe('What the picture is called below `/proxy/storage/`.'), {
      write: 'update',
      input: imageBytes.min(1).nullable().describe('A new picture as base64, or null for none.'),
      sql: pictureOf,
    }),
    publicKey: attribute(
      z.string().nullable().describe('Base64 of an SPKI key; null until they have made their keys.'),
    ),
    role: attribute(z.enum(roles).describe('What the person may do.'), {
      write: 'update',
      sparse: true,
      sql: ofOneself('role'),
    }),
    createdAt: sortedTimestamps.createdAt,
    updatedAt: timestamps.updatedAt,
  },
  page: { size: 25, max: 100 },
})

type UserChange = UpdateInput<typeof users>

/** People change themselves; administrators change the role of anybody. */
const permitted = middleware(({ ctx, input, next }) => {
  const { id, role, displayName, bio, avatar } = input as UserChange
  const { current } = ctx.callerContext
  const person = current.type === 'user' ? current.person : undefined
  const own = person?.id === Number(id)
  if (Number(id) === AI_USER_ID) throw new Problem('read_only')
  if (role !== undefined && !isAdministrator(current)) throw new Problem('admin_only')
  if (!own && [displayName, bio, avatar].some((value) => value !== undefined)) throw new Problem('read_only')
  return next()
})

export const usersRouter = router({
  ...reads(users),

  me: member(users, 'me', userOrAppWith('user'))
    .meta(about('Read the caller. An external app has the id 0, for it has no account.'))
    .input(z.strictObject({ include: z.array(z.never()).max(1).optional() }).prefault({}))
    .query(async ({ ctx }): Promise<RecordOf<typeof users>> => {
      const { caller } = ctx
      return caller.type === 'user' ? getRow(ctx, users, String(caller.person.id)) : appAsUser(caller)
    }),

  changesSince: memberAction(users, 'me', 'changes', userWith('read'))
    .meta(
      about(
        "Read what has changed in the caller's own list of rooms, invitations and private conversations since a position.",
      ),
    )
    .input(changesInput)
    .query(({ ctx, input }) => changesSince(ctx, `user:${ctx.caller.person.id}`, input.page?.after)),

  changes: userWith('read')
    .meta(about("Follow what changes in the caller's own list of rooms, invitations and private conversations."))
    .input(followInput.prefault({}))
    .subscription(({ ctx, input: { lastEventId: after } }) =>
      followChanges(ctx, { stream: `user:${ctx.caller.person.id}`, after, admit: async () => () => false }),
    ),

  picture: userWith('read')
    .meta(about('Read the picture of somebody the caller knows, as WebP.'))
    .input(z.strictObject({ id: resourceId, size: pictureSize }))
    .query(async ({ ctx, input }) => {
      const { avatar } = await getRow(ctx, users, input.id)
      if (!avatar) throw new Problem('not_found', { detail: 'This user has no picture.' })
      return readPicture(ctx.services, keyOfPicture(avatar), input.size)
    }),

  update: userWith('write')
    .meta({ ...exposes(users, 'update'), ...takes('picture') })
    .use(withoutUnchanged(users))
    .input(updateInput(users))
    .use(permitted)
    .mutation(({ ctx, input }): Promise<RecordOf<typeof users>> => updateUser(ctx, input as UserChange)),

  delete: administrator
    .meta(exposes(users, 'delete'))
    .input(z.strictObject({ id: resourceId, ifVersion }))
    .mutation(async ({ ctx, input: { id, ifVersion } }) => {
      if (Number(id) === AI_USER_ID) throw new Problem('read_only')
      const user = await findUser(ctx, { id: Number(id) })
      return {
        id,
        report: await eraseUser(ctx, user, (em) => lockRow(ctx, em, users, { id, ifVersion, verb: 'delete' })),
      }
    }),

  /** By POST, so that what was typed stands in no address and no log. */
  findPeople: action(users, 'search', userWith('read'))
    .meta(about('Find people to invite: `meta.people` has five at most, with their public keys.'))
    .input(peopleQuery)
    .mutation(async ({ ctx, input }) => ({
      meta: { people: await findPeople(ctx, ctx.caller.person.id, input.query) },
    })),

  /** Everybody whose username, name or e-mail address holds the text. */
  search: host
    .input(z.strictObject({ text: z.string().max(254).default('') }))
    .query(({ ctx, input: { text } }): Promise<ListedUser[]> => ctx.services.sql(findUsers, [text])),

  /** What an administrator wants to know of somebody who asks for help. */
  show: host.input(z.strictObject({ user: userChoice })).query(async ({ ctx, input }) => {
    const { id, username } = await findUser(ctx, input.user)
    const [details] = await ctx.services.sql(describeUser, [id])
    if (!details) throw new Problem('not_found')
    return { ...details, localAccount: await ctx.services.localAccounts.has(username) }
  }),

  find: host.input(z.strictObject({ user: userChoice })).query(async ({ ctx, input }) => {
    const { id, username, name } = await findUser(ctx, input.user)
    return { id, username, name }
  }),
})

/** As apps know themselves that were made for it. No person has such a username. */
const appAsUser = ({ name, createdAt, updatedAt }: ExternalApp): RecordOf<typeof users> => ({
  ...{ id: '0', displayName: name, username: `APP: ${name}`, bio: null, avatar: null, publicKey: null },
  ...{ createdAt, updatedAt, relations: {} },
})

async function updateUser(ctx: Context, { avatar: image, ...given }: UserChange) {
  const { id, ifVersion: _, role: __, ...shown } = given
  if (image !== undefined || Object.keys(shown).length > 0) await consumeProfileChange(ctx, Number(id))
  const { avatar } = await getRow(ctx, users, given.id)
  if (image === undefined) return write(ctx, given)
  const before = avatar && keyOfPicture(avatar)
  return replacePicture(ctx, { before, image, write: (avatar) => write(ctx, { ...given, avatar }) })
}

const write = (ctx: Context, change: RowChange) =>
  updateRow(ctx, users, change, { afterFlush: (written) => afterFlush(ctx, written) })

/** What stays the same is not among the given members. */
async function afterFlush({ services }: Context, { em, changes, row, given }: WrittenRow): Promise<void> {
  const { role, ...shown } = given
  if (role !== undefined) await endSessions(em, row.id)
  if (Object.keys(shown).length > 0)
    await services.hooks.settle('user-profile-changed', { userId: row.id, em, changes })
}
