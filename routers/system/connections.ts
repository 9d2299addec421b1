import { z } from 'zod'
import { pendingCount } from '../../entities/identity/frontend-migration.ts'
import { pictureIdentifier } from '../../entities/identity/picture.ts'
import { User } from '../../entities/identity/user.ts'
import { coalescedStatement } from '../../entities/sql/statement.ts'
import { endAppLinks, findConnection } from '../apps/app-links.ts'
import type { Context } from '../core/context.ts'
import { Problem } from '../core/problems.ts'
import { anyoneOrApp, externalApp, router } from '../core/trpc.ts'
import { keyHash } from '../identity/salts.ts'
import { attribute, defineResource } from '../resource/declare.ts'
import { exposeAs } from '../resource/exposure.ts'
import type { RecordOf } from '../resource/record.ts'
import { builtInBlocks, describeWebsocket, readBlocks, selectSalts, toBlockContext } from './configs.ts'

const connectionTypes = [
  'internal',
  'internal_registering_user',
  'internal_authenticated',
  'external_app',
  'external_app_authenticated',
] as const

const openObject = z.record(z.string(), z.unknown())
const userinfo = z.strictObject({
  id: z.int().describe('The id of the caller. It is 0 before registration is complete.'),
  name: z.string(),
  username: z.string(),
  email: z.string(),
  hash: z.string().describe('A hash that changes with the public key. A front end then discards its cached data.'),
  avatar: z.string().nullable(),
  bio: z.string().nullable(),
})

const sealedText = z.string().nullable()
const secrets = z.strictObject({
  passkey: sealedText.describe(
    'The passkey, as the browser of the person encrypted it. It is null for a link without keys.',
  ),
  apiToken: z.string().describe('A token of the person with the abilities that they agreed to.'),
  privateKey: sealedText.describe('The private key of a pair for this link alone. It is null for a link without keys.'),
})

const sparse = { sparse: true } as const

export const connections = defineResource({
  type: 'connections',
  about:
    "The data that a front end needs first. For a session, the id is the word in the setting `BRAND`; for an external app, it is the id of the app's user.",
  attributes: {
    connectionType: attribute(
      z.enum(connectionTypes).describe("The progress of the caller's sign-in and registration."),
    ),
    version: attribute(z.string().describe('The version of this service.')),
    locale: attribute(z.string().describe('The language of the caller, a key of `translation-labels`.')),
    userinfo: attribute(userinfo.describe('The caller. Absent until it is known.'), sparse),
    migrationsToApply: attribute(z.int().describe('The number of pending `migrations`.'), sparse),
    websocket: attribute(
      openObject.describe('The address of the stream of changes, as in the config block `transfer`.'),
      sparse,
    ),
    salts: attribute(openObject.describe('The salts of the config block `salts`.'), sparse),
    extAppConnectRequest: attribute(
      z.string().describe('The address that a person opens to link their account to the app.'),
      sparse,
    ),
    extAppSecrets: attribute(
      secrets.describe('The secrets of a linked user, each encrypted for the key of the app.'),
      sparse,
    ),
    configs: attribute(z.record(z.string(), openObject).describe('The blocks of `configs` by key.')),
  },
})

/** The id of an app's own user, or the brand of the installation. */
const userId = z.string().min(1).max(255)

type Connection = RecordOf<typeof connections>

type ConnectionUser = Omit<z.output<typeof userinfo>, 'hash'> & { publicKey: string | null; pending: number }

/** Finds users by ids. Many pages boot at once after a restart, so the statement is coalesced. */
const findConnectionUsers = coalescedStatement<ConnectionUser>(
  'find-connection-users',
  `select id, name, username, email, ${pictureIdentifier('profile_avatars', 'avatar')} as avatar, bio, public_key as "publicKey", ${pendingCount} as pending
     from ${User.tableName} u where id = any($1::int[])`,
  { idsAt: 0, idColumn: 'id' },
)

export const connectionsRouter = router({
  get: anyoneOrApp
    .meta(exposeAs(connections, 'get'))
    .input(z.strictObject({ id: userId }))
    .query(async ({ ctx, input }): Promise<Connection> => {
      const { callerContext, usage, requestId } = ctx
      const { current } = callerContext
      if (current.type === 'external-app') return readAppConnection(ctx, current.appId, input.id)
      const { brand } = ctx.services.settings
      if (input.id !== brand || usage !== 'main') {
        ctx.services.log.warn({ requestId, userType: current.type, usage }, 'a connection was refused')
        throw new Problem('not_found', { detail: 'There is no such connection.' })
      }
      const [shared, known] = await Promise.all([readSharedMembers(ctx, brand), describeCaller(ctx)])
      return { ...shared, ...known, ...saltsMember(ctx), ...websocketMember(ctx) }
    }),

  /** Running calls of the app for the person are aborted. */
  delete: externalApp
    .meta(exposeAs(connections, 'delete'))
    .input(z.strictObject({ id: userId, ifVersion: z.never().optional() }))
    .mutation(async ({ ctx, input: { id } }) => {
      const ended = await endAppLinks(ctx, ctx.caller.appId, { externalId: id })
      if (ended === 0) throw new Problem('not_found', { detail: 'There is no such connection.' })
      return { id }
    }),
})

/** Reads the members that every connection has. */
async function readSharedMembers(ctx: Context, id: string) {
  const configs = await readBlocks(ctx, [...builtInBlocks, ...ctx.services.process.extensions.configBlocks])
  const { version } = ctx.services.settings
  return { id, version, locale: ctx.locale, configs: Object.fromEntries(configs) }
}

/** Reads the connection of a user of the calling app; other apps cannot be named. */
async function readAppConnection(ctx: Context, appId: number, id: string): Promise<Connection> {
  const { userId, ...found } = { userId: undefined, ...(await findConnection(ctx, appId, id)) }
  const known = userId === undefined ? undefined : await describeUser(ctx, userId)
  return {
    ...(await readSharedMembers(ctx, id)),
    ...known,
    ...found,
    connectionType: known ? 'external_app_authenticated' : 'external_app',
  }
}

const saltsMember = (ctx: Context) => {
  const salts = selectSalts(toBlockContext(ctx))
  return salts ? { salts: { ...salts } } : {}
}

const websocketMember = ({ callerContext: { current }, services: { settings } }: Context) =>
  current.type === 'user' ? { websocket: describeWebsocket(settings.realtime.key, settings.baseUrl) } : {}

type CallerDescription = Pick<Connection, 'connectionType' | 'userinfo' | 'migrationsToApply'>

/** Describes the caller, depending on the state of their sign-in. */
async function describeCaller(ctx: Context): Promise<CallerDescription> {
  const { current } = ctx.callerContext
  if (current.type === 'user') return describeUser(ctx, current.person.id)
  if (current.type !== 'registering') return { connectionType: 'internal' }
  const { name, username, email } = current
  const registering = { id: 0, name, username, email, hash: '', avatar: null, bio: null }
  return { connectionType: 'internal_registering_user', userinfo: registering }
}

async function describeUser(ctx: Context, id: number): Promise<CallerDescription> {
  const [user] = await ctx.services.sql(findConnectionUsers, [[id]])
  if (!user) throw new Problem('signed_out')
  const { publicKey, pending, ...rest } = user
  return {
    connectionType: 'internal_authenticated',
    userinfo: { ...rest, hash: keyHash(id, publicKey ?? '') },
    migrationsToApply: pending,
  }
}
