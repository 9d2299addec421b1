import { z } from 'zod'
import { alternatives } from '../http/openapi/schema.ts'

/** A text is one kind of value and anything else another, so that issues name the members of the kind that was meant. */
export function textOr<Text extends z.ZodType, Other extends z.ZodType>(text: Text, other: Other) {
  type Either = z.output<Text> | z.output<Other>
  const either = z.unknown().transform((given, ctx): Either => {
    const parsed = (typeof given === 'string' ? text : other).safeParse(given)
    if (parsed.success) return parsed.data as Either
    ctx.issues.push(...(parsed.error.issues.map((issue) => ({ ...issue, input: given })) as typeof ctx.issues))
    return z.NEVER
  })
  alternatives.set(either, [text, other])
  return either
}

/** The members that have a value. */
export const set = <Members extends object>(members: Members) =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined && value !== null)) as {
    [Name in keyof Members]?: NonNullable<Members[Name]>
  }
