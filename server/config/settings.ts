import { z } from 'zod'
import { aiRules, aiShape } from './settings/ai.ts'
import { filesRules, filesShape } from './settings/files.ts'
import { identityShape } from './settings/identity.ts'
import { loginRules, loginShape } from './settings/login.ts'
import { placeholderRules } from './settings/placeholders.ts'
import { processRules, processShape } from './settings/process.ts'
import { realtimeShape } from './settings/realtime.ts'
import { roomsShape } from './settings/rooms.ts'
import { siteRules, siteShape } from './settings/site.ts'
import { storageRules, storageShape } from './settings/storage.ts'
import { systemShape } from './settings/system.ts'

/** Every setting, in the order of the table in README.md. Its description is the meaning shown there. */
export const shape = {
  ...processShape,
  ...loginShape,
  ...identityShape,
  ...aiShape,
  ...roomsShape,
  ...realtimeShape,
  ...storageShape,
  ...filesShape,
  ...systemShape,
  ...siteShape,
}

export const required = {
  DATABASE_URL: 'production needs a PostgreSQL of its own',
  APP_KEY: 'production needs a key of its own',
  AI_CONFIG: 'production does not serve the demo model',
  USERDATA_ENCRYPTION_SALT: 'production needs its own salts',
  INVITATION_SALT: 'production needs its own salts',
  AI_CRYPTO_SALT: 'production needs its own salts',
  PASSKEY_SALT: 'production needs its own salts',
  BACKUP_SALT: 'production needs its own salts',
} as const

/** `when` runs a rule beside other problems, so that all are listed at once. */
const inProduction = (name: keyof typeof required) =>
  z.refine<Record<string, unknown>>((env) => env['NODE_ENV'] !== 'production' || env[name] !== undefined, {
    path: [name],
    message: required[name],
    when: () => true,
  })

export const settings = z
  .object(shape)
  .check(
    ...(Object.keys(required) as (keyof typeof required)[]).map(inProduction),
    ...placeholderRules(shape),
    ...processRules,
    ...loginRules,
    ...aiRules,
    ...filesRules,
    ...storageRules,
    ...siteRules,
  )

/** The settings, and all variables of the environment, which configuration files may refer to by `${NAME}`. */
export type Env = z.output<typeof settings> & { variables: Record<string, string | undefined> }
