import { z } from 'zod'
import { alternatives } from '../http/alternatives.ts'

/** Validates a value by the schema that is chosen for it, so that issues refer to the kind that was meant. */
export function validateBy<Schema extends z.ZodType>(schemas: readonly Schema[], choose: (value: unknown) => Schema) {
  const chosen = z.unknown().transform((value, ctx): z.output<Schema> => {
    const parsed = choose(value).safeParse(value)
    if (parsed.success) return parsed.data
    ctx.issues.push(...(parsed.error.issues.map((issue) => ({ ...issue, input: value })) as typeof ctx.issues))
    return z.NEVER
  })
  alternatives.set(chosen, schemas)
  return chosen
}

/** Validates either a text or another value. */
export const textOr = <Text extends z.ZodType, Other extends z.ZodType>(text: Text, other: Other) =>
  validateBy<Text | Other>([text, other], (value) => (typeof value === 'string' ? text : other))
