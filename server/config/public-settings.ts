import mime from 'mime'
import type { FileRules, PublicSettings, Salts } from '../../routers/core/settings.ts'
import { fallbackSalt, saltSettings } from '../../routers/identity/salts.ts'
import type { Env } from './settings.ts'

const pictures = ['image/png', 'image/jpeg', 'image/webp', 'image/gif', 'image/avif']
const texts = ['text/plain', 'text/markdown', 'text/csv', 'text/html', 'application/json', 'application/xml']

/** What the front end may know of the settings. */
export function publicSettings(env: Env, appKey: string, baseUrl: string): PublicSettings {
  const { hostname: host, port, protocol, pathname } = new URL(baseUrl)
  const forceTls = protocol === 'https:'
  const allowed = env.ALLOWED_FILE_MIME_TYPES
  return {
    salts: saltsOf(env, appKey),
    passkey: {
      allowPaste: env.APP_SECURITY_PASSKEY_ALLOW_PASTE,
      restrictCharacters: env.APP_SECURITY_PASSKEY_CHAR_LIMITATION,
    },
    websocket: {
      key: env.WEBSOCKET_KEY,
      host,
      port: Number(port) || (forceTls ? 443 : 80),
      forceTls,
      path: `${pathname.replace(/\/$/, '')}/ws/transfer`,
    },
    aiHandle: `@${env.AI_MENTION_HANDLE.replace(/^@/, '')}`,
    files: rulesOf(env.MAX_FILE_SIZE, allowed.length > 0 ? allowed : [...pictures, ...texts]),
    avatars: rulesOf(env.MAX_AVATAR_FILE_SIZE, pictures),
    externalApps: env.ALLOW_EXTERNAL_APPS,
    aiInGroups: env.ALLOW_EXTERNAL_APPS_GROUPS_AI,
  }
}

function rulesOf(maxFileSize: number, allowedMimeTypes: readonly string[]): FileRules {
  const extensions = allowedMimeTypes.flatMap((type) => [...(mime.getAllExtensions(type) ?? [])])
  return { maxFileSize, allowedMimeTypes, allowedExtensions: [...new Set(extensions)] }
}

function saltsOf(env: Env, appKey: string): Salts {
  const names = Object.entries(saltSettings)
  return Object.fromEntries(
    names.map(([name, setting]) => [name, env[setting] ?? fallbackSalt(appKey, setting)]),
  ) as unknown as Salts
}
