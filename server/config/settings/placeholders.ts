import { z } from 'zod'

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
export function placeholderRules(shape: Record<string, z.ZodType>) {
  const secrets = Object.keys(shape).filter((name) => shape[name]?.meta()?.['secret'] && !notJudged.includes(name))
  return secrets.map((name) => {
    const isRefused = (value: string) => isPlaceholder(value) || (ownKeys.includes(name) && isWeak(value))
    return z.refine<Record<string, unknown>>(
      (env) => env['NODE_ENV'] !== 'production' || !listSecretParts(env[name]).filter(Boolean).some(isRefused),
      { path: [name], message: 'is a placeholder, not a secret', when: () => true },
    )
  })
}
