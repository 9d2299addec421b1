import ms, { type StringValue } from 'ms'
import { z } from 'zod'

/** `30s`, `5m`, `2h` or a number of milliseconds, read as milliseconds. */
export const duration = z.union([z.number(), z.string()]).transform((value, ctx) => {
  const parsed = typeof value === 'number' ? value : /^\d+$/.test(value) ? Number(value) : ms(value as StringValue)
  if (Number.isFinite(parsed) && parsed > 0) return parsed
  ctx.addIssue({ code: 'custom', message: `'${value}' is not a length of time such as 500ms, 30s or 5m` })
  return z.NEVER
})
