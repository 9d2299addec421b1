// Knows all ways to write a unit, such as `90 min`.
import ms, { type StringValue } from 'ms'
import { z } from 'zod'
import { DAY_MS } from './days.ts'

/** Accepts `30s`, `5m`, `2h` or a number of milliseconds; parsed as milliseconds. */
export const duration = z.union([z.number(), z.string()]).transform((value, ctx) => {
  const parsed = typeof value === 'number' ? value : /^\d+$/.test(value) ? Number(value) : ms(value as StringValue)
  if (Number.isFinite(parsed) && parsed > 0) return parsed
  ctx.addIssue({ code: 'custom', message: 'must be a length of time such as 500ms, 30s or 5m' })
  return z.NEVER
})

/** The limit of `setTimeout`, which fires at once for longer delays. */
const MAX_TIMER_MS = 2 ** 31 - 1

/** A duration that fits into a timer. */
export const timerDuration = duration.refine((length) => length <= MAX_TIMER_MS, 'must be at most 24 days')

/** A timeout for calls of another server in a configuration file. */
export const timeLimit = duration.refine((length) => length <= DAY_MS, 'must be at most 24h')

/** The same timeout as a number of milliseconds. */
export const timeLimitMs = z.number().int().positive().max(DAY_MS, `must be at most ${DAY_MS}, which is 24 hours`)
