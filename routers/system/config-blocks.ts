import { aiPictureIdentifier } from '../../entities/identity/picture.ts'
import { AI_USER_ID, User } from '../../entities/identity/user.ts'
import { coalescedStatement } from '../../entities/sql/statement.ts'
import type { BlockContext, ConfigBlock } from '../core/extension.ts'
import { type Salts, SOCKET_PATH } from '../core/settings.ts'
import { describedLocales } from '../ports/locales.ts'

const isUser = ({ caller }: BlockContext) => caller.type === 'user'

const findAiUser = coalescedStatement<{ name: string; username: string; avatar: string }>(
  'find-ai-user',
  `select name, username, ${aiPictureIdentifier('avatar')} as avatar from ${User.tableName} where id = ${AI_USER_ID}`,
)

/** Who is still registering needs what the first keys are made with, and no more. */
export function saltsFor({ caller, settings }: BlockContext): Partial<Salts> | undefined {
  const { userdata, passkey, backup } = settings.public.salts
  if (caller.type === 'user') return settings.public.salts
  return caller.type === 'registering' ? { userdata, passkey, backup } : undefined
}

/** Where clients of the Pusher protocol connect: in front of `/app/{key}` they put the path. */
export function websocketFor(key: string, baseUrl: string) {
  const { protocol, hostname, port, pathname } = new URL(baseUrl)
  const forceTls = protocol === 'https:'
  const path = `${pathname.replace(/\/$/, '')}${SOCKET_PATH}`
  return { key, host: hostname, port: Number(port) || (forceTls ? 443 : 80), forceTls, path }
}

/** The blocks that come with the service, each for those who may see it. */
export const builtInBlocks: readonly ConfigBlock[] = [
  { key: 'locale', of: ({ settings }) => ({ default: settings.defaultLocale, available: describedLocales }) },
  { key: 'salts', of: (ctx) => saltsFor(ctx) as Record<string, unknown> | undefined },
  {
    key: 'security',
    of: ({
      settings: {
        public: { passkey },
      },
    }) => ({
      passkeyAllowPaste: passkey.allowPaste,
      passkeyRestrictCharacters: passkey.restrictCharacters,
    }),
  },
  {
    key: 'transfer',
    of: (ctx) => ({
      baseUrl: ctx.settings.baseUrl,
      ...(isUser(ctx) && { websocket: websocketFor(ctx.settings.realtime.key, ctx.settings.baseUrl) }),
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
