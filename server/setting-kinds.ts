import { z } from 'zod'
import { timerDuration } from '../routers/duration.ts'

export const flag = (fallback: boolean) => z.stringbool({ error: 'must be true or false' }).prefault(String(fallback))

export const list = z
  .string()
  .transform((text) =>
    text
      .split(',')
      .map((part) => part.trim())
      .filter(Boolean),
  )
  .prefault('')

/** A length of time that may be 0. */
export const durationOrNone = z.union([z.literal('0').transform(Number), timerDuration])

export const count = (fallback: number, min = 0, max = Number.MAX_SAFE_INTEGER) =>
  z.coerce.number().int().min(min).max(max).default(fallback)
