import ms, { type StringValue } from 'ms'
import { z } from 'zod'

/** `30s`, `5m`, `2h` or a number of milliseconds, read as milliseconds. */
export const duration = z.union([z.number(), z.string()]).transform((value, ctx) => {
  const parsed = typeof value === 'number' ? value : /^\d+$/.test(value) ? Number(value) : ms(value as StringValue)
  if (Number.isFinite(parsed) && parsed > 0) return parsed
  ctx.addIssue({ code: 'custom', message: 'must be a length of time such as 500ms, 30s or 5m' })
  return z.NEVER
})

/** A timer counts no further: `setTimeout` fires at once when it is given more. */
const MAX_TIMER_MS = 2 ** 31 - 1
const DAY_MS = 86_400_000

/** A duration that a timer may be given. */
export const timerDuration = duration.refine((length) => length <= MAX_TIMER_MS, 'must be at most 24 days')

/** A time limit for calls of another server, as configuration files write it. */
export const timeLimit = duration.refine((length) => length <= DAY_MS, 'must be at most 24h')

/** The same as a number of milliseconds. */
export const timeLimitMs = z.number().int().positive().max(DAY_MS, `must be at most ${DAY_MS}, which is 24 hours`)
