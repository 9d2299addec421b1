import { z } from 'zod'
import { aiRules, aiShape } from './settings/ai.ts'
import { filesRules, filesShape } from './settings/files.ts'
import { identityShape } from './settings/identity.ts'
import { loginRules, loginShape } from './settings/login.ts'
import { oauthShape } from './settings/oauth.ts'
import { processRules, processShape } from './settings/process.ts'
import { realtimeShape, roomsShape } from './settings/rooms.ts'
import { siteRules, siteShape } from './settings/site.ts'
import { storageRules, storageShape } from './settings/storage.ts'
import { systemShape } from './settings/system.ts'

/** All settings, in the order of the table in README.md, which shows their descriptions. */
const shape = {
  ...processShape,
  ...loginShape,
  ...identityShape,
  ...oauthShape,
  ...aiShape,
  ...roomsShape,
  ...realtimeShape,
  ...storageShape,
  ...filesShape,
  ...systemShape,
  ...siteShape,
}

/** Settings that production requires, with the messages for missing ones. */
export const requiredInProduction = {
  DATABASE_URL: 'production needs a PostgreSQL of its own',
  APP_KEY: 'production needs a key of its own',
  AI_CONFIG: 'production does not serve the demo model',
  USERDATA_ENCRYPTION_SALT: 'production needs its own salts',
  INVITATION_SALT: 'production needs its own salts',
  AI_CRYPTO_SALT: 'production needs its own salts',
  PASSKEY_SALT: 'production needs its own salts',
  BACKUP_SALT: 'production needs its own salts',
} as const

/** Creates the rule that production requires a setting. `when` runs it even if there are other problems, so that all are listed. */
const createProductionRule = (name: keyof typeof requiredInProduction) =>
  z.refine<Record<string, unknown>>((env) => env['NODE_ENV'] !== 'production' || env[name] !== undefined, {
    path: [name],
    message: requiredInProduction[name],
    when: () => true,
  })

const placeholderInside = /(?<![a-z])(change[-_ ]?me(?!nt)|replace[-_ ]?me|placeholder)/i
const placeholderWhole = /^(your[-_ ].*|<.*>|todo:.*|[x._ -]{3,}|(secret|password)([-_. ]?\2)*)$/is
/** Matches values that consist only of words for secrets, at least one of which marks an example. */
const placeholderWords =
  /^(?=.*(example|todo))((example|todo|my|the|app|api|secret|password|key|token|salt|here)[-_. ]*)+$/i

const isPlaceholder = (value: string) =>
  placeholderInside.test(value) || placeholderWhole.test(value) || placeholderWords.test(value)

const weakKey = /^(changeme|change-me|secret|placeholder|example|todo|xxx+|password|your[-_ ])/i

/** Keys that operators generate, and that must be random. */
const generatedKeys = ['APP_KEY', 'REVERB_APP_SECRET']

const isWeak = (value: string) => weakKey.test(value) || new Set(value).size <= 8

/** Secrets that are not checked: a previous key must still open what it sealed, so that a weak key can be replaced. */
const uncheckedSettings = ['APP_PREVIOUS_KEYS']

/** Lists the secret parts of a setting; for a URL these are its passwords. */
function listSecretParts(value: unknown): string[] {
  const text = String(value ?? '')
  if (!/^\w+:\/\//.test(text)) return [text]
  if (!URL.canParse(text)) return []
  const { password, searchParams } = new URL(text)
  return [decodeOrKeep(password), searchParams.get('password') ?? '']
}

function decodeOrKeep(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Creates the rules by which production refuses placeholders in settings with `.meta({ secret: true })`, except previous keys. */
function createPlaceholderRules(shape: Record<string, z.ZodType>) {
  const secrets = Object.keys(shape).filter(
    (name) => shape[name]?.meta()?.['secret'] && !uncheckedSettings.includes(name),
  )
  return secrets.map((name) => {
    const isRefused = (value: string) => isPlaceholder(value) || (generatedKeys.includes(name) && isWeak(value))
    return z.refine<Record<string, unknown>>(
      (env) => env['NODE_ENV'] !== 'production' || !listSecretParts(env[name]).filter(Boolean).some(isRefused),
      { path: [name], message: 'is a placeholder, not a secret', when: () => true },
    )
  })
}

export const settings = z
  .object(shape)
  .check(
    ...(Object.keys(requiredInProduction) as (keyof typeof requiredInProduction)[]).map(createProductionRule),
    ...createPlaceholderRules(shape),
    ...processRules,
    ...loginRules,
    ...aiRules,
    ...filesRules,
    ...storageRules,
    ...siteRules,
  )

/** The settings, and all variables of the environment, which configuration files refer to by `${NAME}`. */
export type Env = z.output<typeof settings> & { variables: Record<string, string | undefined> }

export interface SettingRow {
  name: string
  type: string
  default: string
  meaning: string
  secret: boolean
  /** An installation must decide it, may change it for what it wants, or needs it only for tuning. */
  priority: SettingPriority
}

export type SettingPriority = 'must' | 'may' | 'tuning'

/** Describes all settings, for `svc settings` and the table in README.md. */
export function describeSettings(): SettingRow[] {
  const schema = z.toJSONSchema(z.object(shape), { io: 'input', unrepresentable: 'any' })
  return Object.entries(schema.properties ?? {}).map(([name, property]) => {
    const { description = '', secret = false, priority, ...rest } = property as z.core.JSONSchema.BaseSchema
    return {
      name,
      type: describeType(name, rest),
      default: describeDefault(rest),
      meaning: description,
      secret: Boolean(secret),
      priority: priority as SettingPriority,
    }
  })
}

function describeType(name: string, schema: z.core.JSONSchema.BaseSchema): string {
  if (schema.enum) return schema.enum.join(' | ')
  const declared = shape[name as keyof typeof shape]
  if (['a,b', undefined].some((value) => Array.isArray(declared.safeParse(value).data))) return 'list'
  if (declared.safeParse('true').data === true) return 'boolean'
  if (schema.anyOf || Array.isArray(schema.type)) return 'duration'
  return schema.format === 'uri' ? 'URL' : String(schema.type ?? 'string')
}

function describeDefault({ default: fallback }: z.core.JSONSchema.BaseSchema): string {
  return fallback === undefined || fallback === '' ? '' : String(fallback)
}
