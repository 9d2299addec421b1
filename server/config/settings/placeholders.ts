import { z } from 'zod'

const inside = /change[-_ ]?(me|it|this)|replace[-_ ]?(me|it|this)|placeholder/i
const atFirst = /^(<|example|todo|xxx|your[-_ ])/i
const onlyWords = /^((my|the|app|api|secret|password|passwd|key|token|salt)[-_. ]*)+[\d!]*$/i

const isRepetitive = (value: string) => new Set(value).size <= Math.min(8, value.length / 4)

const isPlaceholder = (value: string) =>
  inside.test(value) || atFirst.test(value) || onlyWords.test(value) || isRepetitive(value)

/** What of a setting is secret: of an address only its password. */
function secretPartsOf(value: unknown): string[] {
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

/** Production refuses placeholders in every setting that is declared `.meta({ secret: true })`. */
export function placeholderRules(shape: Record<string, z.ZodType>) {
  const secrets = Object.keys(shape).filter((name) => shape[name]?.meta()?.['secret'])
  return secrets.map((name) =>
    z.refine<Record<string, unknown>>(
      (env) =>
        env['NODE_ENV'] !== 'production' ||
        ![env[name]].flat().flatMap(secretPartsOf).filter(Boolean).some(isPlaceholder),
      { path: [name], message: 'is a placeholder, not a secret', when: () => true },
    ),
  )
}
