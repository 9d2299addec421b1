import { z } from 'zod'
import { duration } from '../routers/ports/duration.ts'

const CENTURY = 100 * 365 * 86_400_000

/** The value of `--expires`, such as 12h or 90d, as when it is over. A bare number, which would be milliseconds, is refused. */
export const lifetime = z
  .string()
  .regex(/[a-z]\s*$/i, 'needs a unit, as in 12h, 90d or 1y')
  .transform((text): string | number => text)
  .pipe(duration)
  .refine((length) => length <= CENTURY, 'must be at most a hundred years')
  .transform((length) => new Date(Date.now() + length))
