import { z } from 'zod'
import { MAX_CAP } from '../../../entities/ai/usage-counter.sql.ts'
import { limitModes, limitPeriods } from '../../../entities/ai/usage-limit.ts'
import { limitTarget, parseTarget } from './limit-target.ts'

const MICROS = 1_000_000

const timeZone = z.string().max(64).refine(isTimeZone, 'must be a time zone such as Europe/Berlin')

const amount = z
  .number()
  .min(0)
  .max(1_000_000_000_000, 'is too large')
  .refine((given) => given === 0 || Math.round(given * MICROS) > 0, { error: 'is too small', abort: true })

/** One limit as an administrator writes it. Amounts of money are in units of the currency. */
export const limitEntry = z
  .strictObject({
    name: z
      .string()
      .trim()
      .regex(/^[\p{L}\p{N}][\p{L}\p{N} ._-]{0,79}$/u, 'must be at most 80 letters, digits, spaces and . _ -'),
    for: limitTarget,
    cap: amount,
    unit: z.string().regex(/^(requests|tokens|[A-Z]{3})$/, 'must be requests, tokens or a currency code such as EUR'),
    per: z.enum(limitPeriods),
    timeZone: timeZone.optional(),
    mode: z.enum(limitModes).default('enforce'),
    unpriced: amount.optional().describe('What a call without a known price counts, in units of the currency.'),
  })
  .refine(({ unit, cap }) => isMoney(unit) || Number.isInteger(cap), {
    path: ['cap'],
    message: 'must be a whole number',
  })
  .refine(({ unit, unpriced }) => isMoney(unit) || unpriced === undefined, {
    path: ['unpriced'],
    message: 'belongs to limits in money',
  })
  .refine(({ unit, cap, unpriced = 0 }) => !isMoney(unit) || Math.max(cap, unpriced) <= MAX_CAP / MICROS, {
    path: ['cap'],
    message: 'is too large',
  })
export type LimitEntry = z.output<typeof limitEntry>

/** The file that LIMITS names. */
export const limitsConfig = z
  .strictObject({ timeZone: timeZone.default('UTC'), limits: z.array(limitEntry).max(1000) })
  .superRefine(({ limits }, ctx) => {
    for (const [index, { name }] of limits.entries()) {
      if (limits.findIndex((other) => other.name === name) === index) continue
      ctx.addIssue({ code: 'custom', path: ['limits', index, 'name'], message: `there are two limits named ${name}` })
    }
  })
export type LimitsConfig = z.output<typeof limitsConfig>

const isMoney = (unit: string) => unit !== 'requests' && unit !== 'tokens'

/** The columns that an entry stands for. */
export function limitColumns({ name, for: target, cap, unit, per, mode, unpriced }: LimitEntry, zone: string) {
  const { subject, subjectId } = parseTarget(target)
  const factor = isMoney(unit) ? MICROS : 1
  return {
    name,
    subject,
    subjectId,
    unit: isMoney(unit) ? ('money' as const) : (unit as 'requests' | 'tokens'),
    currency: isMoney(unit) ? unit : null,
    cap: Math.round(cap * factor),
    unpricedCost: unpriced === undefined ? null : Math.round(unpriced * MICROS),
    period: per,
    timeZone: zone,
    mode,
    active: true,
  }
}

/** An offset is none: the database counts it in the other direction, or does not know it. */
function isTimeZone(name: string): boolean {
  try {
    if (/^[+-]/.test(name)) return false
    return Boolean(new Intl.DateTimeFormat('en', { timeZone: name }))
  } catch {
    return false
  }
}
