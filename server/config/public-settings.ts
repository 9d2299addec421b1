import mime from 'mime'
import type { FileRules, PublicSettings, Salts } from '../../routers/core/settings.ts'
import { fallbackSalt, saltSettings } from '../../routers/identity/salts.ts'
import { fileRulesOf } from './file-rules.ts'
import type { Env } from './settings.ts'

const pictures = ['image/png', 'image/jpeg', 'image/webp', 'image/gif', 'image/avif']

/** Selects the settings that front ends may read. */
export function publicSettings(env: Env, appKey: string): PublicSettings {
  return {
    salts: saltsOf(env, appKey),
    passkey: {
      allowPaste: env.APP_SECURITY_PASSKEY_ALLOW_PASTE,
      restrictCharacters: env.APP_SECURITY_PASSKEY_CHAR_LIMITATION,
    },
    avatars: rulesOf(env.MAX_AVATAR_FILE_SIZE, pictures),
    files: fileRulesOf(env),
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
