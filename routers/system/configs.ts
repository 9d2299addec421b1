import { z } from 'zod'
import { aiPictureIdentifier } from '../../entities/identity/picture.ts'
import { AI_USER_ID, User } from '../../entities/identity/user.ts'
import { coalescedStatement } from '../../entities/sql/statement.ts'
import type { Context } from '../core/context.ts'
import type { BlockContext, ConfigBlock } from '../core/extension.ts'
import { type Salts, SOCKET_PATH } from '../core/settings.ts'
import { about, anyone, router } from '../core/trpc.ts'
import { describedLocales } from '../ports/locales.ts'
import { attribute, defineResource } from '../resource/declare.ts'
import type { RecordOf } from '../resource/record.ts'
import { member } from '../verbs/action.ts'
import { defineComputedReads } from '../verbs/computed.ts'

const block = z.record(z.string(), z.unknown())

export const configs = defineResource({
  type: 'configs',
  about:
    'The configuration of the service, in blocks. The id is the key of a block. Callers get the blocks that they may see.',
  attributes: {
    values: attribute(block.describe('The values of the block, by name.'), { sparse: true }),
    list: attribute(
      z
        .record(z.string(), z.record(z.string(), block))
        .describe('All blocks, by namespace and key. Only the block `public` has it.'),
      {
        sparse: true,
      },
    ),
  },
})

type Config = RecordOf<typeof configs>

/** Returns the data that a block may use. */
export function toBlockContext({ callerContext, usage, locale, services: { settings, sql } }: Context): BlockContext {
  return { caller: callerContext.current, usage, locale, settings, sql }
}

/** Reads the blocks that the caller may see, each with its key. */
export async function readBlocks(
  ctx: Context,
  blocks: readonly ConfigBlock[],
): Promise<[string, Record<string, unknown>][]> {
  const context = toBlockContext(ctx)
  const read = await Promise.all(blocks.map(async ({ key, of }) => [key, await of(context)] as const))
  return read.flatMap(([key, values]) => (values ? [[key, values]] : []))
}

const readAllConfigs = async (ctx: Context): Promise<Config[]> => {
  const blocks = await readBlocks(ctx, [...builtInBlocks, ...ctx.services.process.extensions.configBlocks])
  return blocks.map(([id, values]) => ({ id, values }))
}

export const configsRouter = router({
  ...defineComputedReads(configs, readAllConfigs, anyone),

  public: member(configs, 'public', anyone)
    .meta(about('Read all public blocks at once.'))
    .input(z.strictObject({}).prefault({}))
    .query(async ({ ctx }): Promise<Config> => {
      const own = await readBlocks(ctx, builtInBlocks)
      const added = await readBlocks(ctx, ctx.services.process.extensions.configBlocks)
      // The service and the extensions have separate namespaces.
      const namespace = `${ctx.services.settings.brand}-core`
      const list = {
        [namespace]: Object.fromEntries(own),
        ...(added.length > 0 && { extensions: Object.fromEntries(added) }),
      }
      return { id: 'public', list }
    }),
})

const isUser = ({ caller }: BlockContext) => caller.type === 'user'

const findAiUser = coalescedStatement<{ name: string; username: string; avatar: string }>(
  'find-ai-user',
  `select name, username, ${aiPictureIdentifier('avatar')} as avatar from ${User.tableName} where id = ${AI_USER_ID}`,
)

/** Selects the salts that the caller needs; somebody who is registering gets only those for the first keys. */
export function selectSalts({ caller, settings }: BlockContext): Partial<Salts> | undefined {
  const { userdata, passkey, backup } = settings.public.salts
  if (caller.type === 'user') return settings.public.salts
  return caller.type === 'registering' ? { userdata, passkey, backup } : undefined
}

/** Describes the address for clients of the Pusher protocol, which append `/app/{key}` to the path. */
export function describeWebsocket(key: string, baseUrl: string) {
  const { protocol, hostname, port, pathname } = new URL(baseUrl)
  const forceTls = protocol === 'https:'
  const path = `${pathname.replace(/\/$/, '')}${SOCKET_PATH}`
  return { key, host: hostname, port: Number(port) || (forceTls ? 443 : 80), forceTls, path }
}

/** The built-in blocks, each for the callers who may see it. */
export const builtInBlocks: readonly ConfigBlock[] = [
  { key: 'locale', of: ({ settings }) => ({ default: settings.defaultLocale, available: describedLocales }) },
  { key: 'salts', of: (ctx) => selectSalts(ctx) as Record<string, unknown> | undefined },
  {
    key: 'security',
    of: ({
      settings: {
        public: { passkey },
      },
    }) => ({
      passkeyAllowPaste: passkey.allowPaste,
      passkeyRestrictCharacters: passkey.restrictCharacters,
      keychainForm: passkey.keychainForm,
    }),
  },
  {
    key: 'transfer',
    of: (ctx) => ({
      baseUrl: ctx.settings.baseUrl,
      ...(isUser(ctx) && { websocket: describeWebsocket(ctx.settings.realtime.key, ctx.settings.baseUrl) }),
    }),
  },
  {
    key: 'ai',
    of: async (ctx) => {
      if (!isUser(ctx)) return undefined
      const { brand } = ctx.settings
      const [aiUser] = await ctx.sql(findAiUser)
      return {
        handle: ctx.settings.aiHandle,
        [`${brand}UserDisplayName`]: aiUser?.name,
        [`${brand}UserUsername`]: aiUser?.username,
        [`${brand}UserAvatar`]: aiUser?.avatar,
      }
    },
  },
  { key: 'storage_files', of: (ctx) => (isUser(ctx) ? { ...ctx.settings.public.files } : undefined) },
  { key: 'storage_avatars', of: (ctx) => (isUser(ctx) ? { ...ctx.settings.public.avatars } : undefined) },
  {
    key: 'extApp',
    of: (ctx) =>
      ctx.usage === 'external'
        ? {
            externalAccess: ctx.settings.allowExternalCommunication,
            externalApps: ctx.settings.allowExternalApps,
            ...(isUser(ctx) && { aiInGroups: ctx.settings.allowProgramsInRooms }),
          }
        : undefined,
  },
]
