import { z } from 'zod'
import { aiRules, aiShape } from './settings/ai.ts'
import { filesRules, filesShape } from './settings/files.ts'
import { identityShape } from './settings/identity.ts'
import { loginRules, loginShape } from './settings/login.ts'
import { processRules, processShape, storageRules, storageShape, systemShape } from './settings/process.ts'
import { realtimeShape, roomsShape } from './settings/rooms.ts'
import { siteRules, siteShape } from './settings/site.ts'

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

const inside = /(?<![a-z])(change[-_ ]?me(?!nt)|replace[-_ ]?me|placeholder)/i
const whole = /^(your[-_ ].*|<.*>|todo:.*|[x._ -]{3,}|(secret|password)([-_. ]?\2)*)$/is
/** Nothing but words for a secret, one of which says that it is none yet. */
const onlyWords = /^(?=.*(example|todo))((example|todo|my|the|app|api|secret|password|key|token|salt|here)[-_. ]*)+$/i

const isPlaceholder = (value: string) => inside.test(value) || whole.test(value) || onlyWords.test(value)

const weak = /^(changeme|change-me|secret|placeholder|example|todo|xxx+|password|your[-_ ])/i

/** Keys of our own making, which are random. */
const ownKeys = ['APP_KEY', 'REVERB_APP_SECRET']

const isWeak = (value: string) => weak.test(value) || new Set(value).size <= 8

/** Earlier keys are not judged: they still open what they sealed, so that a bad one can be replaced. */
const notJudged = ['APP_PREVIOUS_KEYS']

/** What of a setting is secret: of an address only its password. */
function listSecretParts(value: unknown): string[] {
  const text = String(value ?? '')
  if (!/^\w+:\/\//.test(text)) return [text]
  if (!URL.canParse(text)) return []
  const { password, searchParams } = new URL(text)
  return [decoded(password), searchParams.get('password') ?? '']
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Production refuses placeholders in every setting that is declared `.meta({ secret: true })`, but for earlier keys. */
function placeholderRules(shape: Record<string, z.ZodType>) {
  const secrets = Object.keys(shape).filter((name) => shape[name]?.meta()?.['secret'] && !notJudged.includes(name))
  return secrets.map((name) => {
    const isRefused = (value: string) => isPlaceholder(value) || (ownKeys.includes(name) && isWeak(value))
    return z.refine<Record<string, unknown>>(
      (env) => env['NODE_ENV'] !== 'production' || !listSecretParts(env[name]).filter(Boolean).some(isRefused),
      { path: [name], message: 'is a placeholder, not a secret', when: () => true },
    )
  })
}

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
