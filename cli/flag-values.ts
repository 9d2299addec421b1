import { z } from 'zod'
import { DAY_MS } from '../routers/ports/days.ts'
import { duration } from '../routers/ports/duration.ts'
import { UsageError, writeIssues } from './errors.ts'

/** Parses the value of a flag by its schema; throws a UsageError with the messages of the schema. */
export function parseFlag<S extends z.ZodType>(schema: S, value: unknown, flag: string): z.output<S> {
  const parsed = schema.safeParse(value)
  if (!parsed.success) throw new UsageError(writeIssues(parsed.error, flag))
  return parsed.data
}

/** Parses the value of an optional flag and returns it as a member with the name `name`; returns no member if it is absent. */
export const parseOptionalFlag = <Name extends string, S extends z.ZodType>(
  name: Name,
  schema: S,
  value: unknown,
  flag: string,
) => (value === undefined ? {} : { [name]: parseFlag(schema, value, flag) }) as { [key in Name]?: z.output<S> }

export const requiredText = z.string().trim().min(1, 'must not be empty')

/** A number as somebody types it. Blank text, such as an unset shell variable, is refused. */
export const typedNumber = requiredText.pipe(z.coerce.number('must be a number'))

/** The parts between commas. Blank ones stay, so that the schema of a part refuses them. */
export const commaList = z.string().transform((text) => text.split(',').map((part) => part.trim()))

/** The names of groups between commas; a blank text names none. */
export const groupList = commaList.transform((groups) => groups.filter(Boolean))

const CENTURY = 100 * 365 * DAY_MS

/** The value of `--expires`, such as 12h or 90d, as a date. A bare number is refused, since it would mean milliseconds. */
export const lifetime = z
  .string()
  .regex(/[a-z]\s*$/i, 'needs a unit, as in 12h, 90d or 1y')
  .transform((text): string | number => text)
  .pipe(duration)
  .refine((length) => length <= CENTURY, 'must be at most a hundred years')
  .transform((length) => new Date(Date.now() + length))
