import { z } from 'zod'
import { timerDuration } from '../../routers/ports/duration.ts'
import { availableLocales } from '../../routers/ports/locales.ts'
import { loginRules, loginShape, networks } from './login-settings.ts'
import { count, durationOrNone, flag, list, origins } from './setting-kinds.ts'

const placeholder = /^(changeme|change-me|secret|placeholder|example|todo|xxx+|password|your[-_ ])/i

const secret = z
  .string()
  .min(32, 'must have at least 32 characters; `openssl rand -base64 48` makes a good one')
  .refine((value) => !placeholder.test(value) && new Set(value).size > 8, 'is a placeholder, not a secret')

/** Changing one makes unreadable what it protects. */
const salt = (what: string) =>
  z
    .string()
    .min(16, 'must have at least 16 characters; `openssl rand -hex 16` makes a good one')
    .optional()
    .describe(`Salt ${what}, never to be changed; made from APP_KEY in development`)
    .meta({ secret: true })

/** Every setting, in the order of the table in the README. Its description is the meaning shown there. */
const shape = {
  NODE_ENV: z
    .enum(['development', 'production'])
    .default('development')
    .describe('`production` refuses placeholders, the embedded database and the demo model'),
  PORT: z.coerce.number().int().min(0).max(65_535).default(3000).describe('Port to listen on; 0 takes a free one'),
  HOST: z.string().default('127.0.0.1').describe('Address to listen on; `0.0.0.0` for all'),
  BASE_URL: z
    .url({ protocol: /^https?$/, error: 'must begin with https:// or http://' })
    .transform((url) => url.replace(/\/+$/, ''))
    .optional()
    .describe('Public address of the service; `http://HOST:PORT` when absent'),
  DATA_DIR: z.string().default('.data').describe('Folder of the embedded database, generated secrets and files'),
  DATABASE_URL: z
    .url({ protocol: /^postgres(ql)?$/, error: 'must begin with postgresql://' })
    .optional()
    .describe('PostgreSQL 15 or newer; the embedded one when absent')
    .meta({ secret: true }),
  DATABASE_POOL: count(10, 2).describe('Largest number of database connections'),
  REDIS_URL: z
    .url({ protocol: /^rediss?$/, error: 'must begin with redis:// or rediss://' })
    .optional()
    .describe('Redis or Valkey, shared by all replicas; in process when absent')
    .meta({ secret: true }),
  APP_KEY: secret
    .optional()
    .describe('Key that seals secrets at rest; generated into DATA_DIR in development')
    .meta({ secret: true }),
  APP_PREVIOUS_KEYS: list
    .describe('Earlier values of APP_KEY, comma separated: still opened, never used to seal')
    .meta({ secret: true }),
  AI_CONFIG: z.string().optional().describe('YAML or JSON file of AI providers and models; the demo model when absent'),
  AI_MAX_BODY: count(2 * 1024 * 1024, 1024).describe('Largest body of an AI request, in bytes'),
  AI_HEARTBEAT: timerDuration
    .prefault('15s')
    .describe('Interval of the comment lines that keep a stream open while the model is silent'),
  RATE_LIMIT_AI_PER_MINUTE: count(0).describe('AI requests a minute, per token and per user; 0 is no limit'),
  RETENTION_USAGE_MONTHS: z.coerce
    .number()
    .int()
    .min(1)
    .max(1200)
    .optional()
    .describe(
      'How many whole months calls of models are kept one by one; older ones as sums by day. For ever when absent',
    ),
  LIMITS: z.string().optional().describe('YAML or JSON file of usage limits; those of `svc limits` hold beside them'),
  LIMITS_MAX_OUTPUT_TOKENS: count(4096, 1).describe(
    'Longest answer in tokens under a usage limit in tokens or money, where the model says nothing less',
  ),
  ALLOW_EXTERNAL_COMMUNICATION: z
    .stringbool({ error: 'must be true or false' })
    .optional()
    .describe('Whether access tokens work at all; when absent: off in production, on in development'),
  ALLOW_USER_TOKEN_CREATION: flag(false).describe('Whether people make their own access tokens'),
  USERDATA_ENCRYPTION_SALT: salt('of the keychain'),
  INVITATION_SALT: salt('of invitations'),
  AI_CRYPTO_SALT: salt('of the messages that models write in rooms'),
  PASSKEY_SALT: salt('of the passkey'),
  BACKUP_SALT: salt('of the recovery code'),
  APP_SECURITY_PASSKEY_ALLOW_PASTE: flag(true).describe('Whether a passkey may be pasted'),
  APP_SECURITY_PASSKEY_CHAR_LIMITATION: flag(true).describe(
    'Whether a passkey may have only letters, digits and !@#$%^&*()_+-',
  ),
  MAX_AVATAR_FILE_SIZE: count(2 * 1024 * 1024, 1).describe('Largest picture of a person, in bytes'),
  KEYCHAIN_MAX_ENTRIES: count(5000, 20, 10_000).describe("Largest number of entries of a person's keychain"),
  KEYCHAIN_MAX_BYTES: count(4 * 1024 * 1024, 65_536, 64 * 1024 * 1024).describe(
    "Largest size of all keys and values of a person's keychain, in bytes",
  ),
  ROOM_MESSAGE_MAX_SIZE: count(65_536, 1024, 262_144).describe(
    'Largest message in a room, in characters of its ciphertext',
  ),
  CHANGE_LOG_DAYS: count(7, 1, 365).describe('How many days long a change can be caught up with'),
  SYNC_LOG: flag(false).describe(
    'Whether the answer of a mutation lists the positions that it wrote to the change log',
  ),
  ROOMS_PER_PERSON: count(200, 1, 1000).describe('In how many rooms a person may be'),
  ROOM_MAX_MEMBERS: count(500, 2, 500).describe('Largest number of members of a room, the AI user included'),
  ROOM_MAX_INVITATIONS: count(100, 1, 500).describe('Largest number of invitations to a room that wait for an answer'),
  ROOM_INVITATION_LIFETIME: timerDuration.prefault('14d').describe('How long an invitation to a room can be accepted'),
  ROOM_REKEY: z
    .enum(['advise', 'enforce'])
    .default('advise')
    .describe('Whether messages with an earlier key of their room are refused, a minute after it got another one'),
  PEOPLE_SEARCHES_PER_MINUTE: count(30, 1).describe(
    'How often a minute a person may search for people or invite one by name',
  ),
  SVC_NAME: z.string().max(120).default('svc').describe('Display name of the AI user, fixed when the database is made'),
  SVC_USERNAME: z
    .string()
    .max(120)
    .toLowerCase()
    .default('svc')
    .describe('Username of the AI user, fixed when the database is made'),
  SVC_AVATAR: z
    .string()
    .optional()
    .describe(
      'Image file of the AI user, taken when the database is made; later `update-avatar` replaces it; a built-in one when absent',
    ),
  APP_LOCALE: z
    .enum(availableLocales)
    .default('en_US')
    .describe('Language for callers who ask for none of the available ones'),
  LABELS_DIR: z
    .string()
    .optional()
    .describe('Folder with files such as `de_DE.json`, whose texts replace the built-in ones'),
  FRONTEND_MIGRATIONS: z.string().optional().describe('Folder with the files of frontend migrations'),
  EXTENSIONS: list.describe('Modules with listeners, health checks, config blocks and tools, comma separated paths'),
  HEALTH_DEEP_EVERY: count(10, 1).describe('One in so many requests to /health runs the deep check'),
  DRAIN_DELAY: durationOrNone
    .optional()
    .describe(
      'How long a stopping service still serves requests while readiness is 503; when absent: 5s in production, 0 in development',
    ),
  SHUTDOWN_TIMEOUT: timerDuration
    .prefault('30s')
    .describe('How long a stopping service waits for running requests, after DRAIN_DELAY'),
  TRUSTED_PROXIES: networks.describe(
    'Addresses or networks of proxies whose X-Forwarded headers are trusted, comma separated',
  ),
  CORS_ORIGINS: origins.describe(
    'Origins whose pages may call the API with an access token, comma separated, such as `https://app.example.org`',
  ),
  ...loginShape,
  SESSION_LIFETIME: z
    .union([z.number(), z.string()])
    .transform((time) => (/^\d+$/.test(`${time}`) ? `${time}m` : time))
    .pipe(timerDuration)
    .prefault('120m')
    .describe('How long a session lives after its last use; a bare number is minutes'),
  LOG_LEVEL: z
    .enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'])
    .default('info')
    .describe('Lowest level that is logged'),
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
  .check(...(Object.keys(required) as (keyof typeof required)[]).map(inProduction), ...loginRules)

/** The settings, and all variables of the environment for what the AI configuration asks for by name. */
export type Env = z.output<typeof settings> & { variables: Record<string, string | undefined> }

export interface SettingRow {
  name: string
  type: string
  default: string
  meaning: string
  secret: boolean
}

/** The table of all settings, for `svc settings` and the README. */
export function describeSettings(): SettingRow[] {
  const schema = z.toJSONSchema(z.object(shape), { io: 'input', unrepresentable: 'any' })
  return Object.entries(schema.properties ?? {}).map(([name, property]) => {
    const { description = '', secret = false, ...rest } = property as z.core.JSONSchema.BaseSchema
    return { name, type: typeOf(name, rest), default: defaultOf(rest), meaning: description, secret: Boolean(secret) }
  })
}

function typeOf(name: string, schema: z.core.JSONSchema.BaseSchema): string {
  if (schema.enum) return schema.enum.join(' | ')
  const declared = shape[name as keyof typeof shape]
  if (['a,b', undefined].some((value) => Array.isArray(declared.safeParse(value).data))) return 'list'
  if (declared.safeParse('true').data === true) return 'boolean'
  if (schema.anyOf || Array.isArray(schema.type)) return 'duration'
  return schema.format === 'uri' ? 'URL' : String(schema.type ?? 'string')
}

function defaultOf({ default: fallback }: z.core.JSONSchema.BaseSchema): string {
  return fallback === undefined || fallback === '' ? '' : String(fallback)
}
