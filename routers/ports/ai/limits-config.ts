import { z } from 'zod'
import { MAX_CAP } from '../../../entities/ai/usage-counter.sql.ts'
import { type LimitSubject, limitModes, limitPeriods, limitSubjects } from '../../../entities/ai/usage-limit.ts'
import { roles } from '../../../entities/identity/user.ts'

interface LimitTarget {
  subject: LimitSubject
  subjectId: string | null
}

/** Lengths of names by subject. */
const MAX_NAME: Partial<Record<LimitSubject, number>> = {
  provider: 120,
  model: 200,
  group: 200,
  app: 120,
  user: 120,
  'tool-server': 120,
  tool: 120,
}

/** The largest id that PostgreSQL assigns to a row. */
const LAST_ROW = 2 ** 31 - 1

/**
 * The target of a limit: each of a kind (`user`), or a single one (`user:alice`, `app:Portal`, `model:gpt-5`,
 * `room:7`).
 */
const limitTarget = z
  .string()
  .max(300)
  .refine(parseSubject, {
    error: `must be one of ${limitSubjects.join(', ')}, or one of a kind as in user:alice`,
    abort: true,
  })
  .superRefine((target, ctx) => {
    const message = findTargetError(parseTarget(target))
    if (message) ctx.addIssue({ code: 'custom', message })
  })

/** Parses a valid target. */
export const parseTarget = (target: string): LimitTarget => parseSubject(target) as LimitTarget

function parseSubject(target: string): LimitTarget | undefined {
  const [kind = '', ...rest] = target.split(':')
  const subject = limitSubjects.find((known) => known === kind)
  const subjectId = rest.length > 0 ? rest.join(':').trim() : null
  if (!subject || subjectId === '' || (subject === 'installation' && subjectId !== null)) return undefined
  return { subject, subjectId }
}

/** Returns the reason why no subject of this kind can have the name or id. */
function findTargetError({ subject, subjectId }: LimitTarget): string | undefined {
  if (subjectId === null) return undefined
  const { isPossible, message } = nameRules[subject] ?? defaultNameRule
  return isPossible(subjectId, subject) ? undefined : message
}

interface NameRule {
  isPossible(name: string, subject: LimitSubject): boolean
  message: string
}

const defaultNameRule: NameRule = {
  isPossible: (name, subject) => isPossibleName(subject, name),
  message: 'has a longer name than there can be',
}

const nameRules: Partial<Record<LimitSubject, NameRule>> = {
  role: { isPossible: (name) => isRole(name), message: `must be ${roles.map((role) => `role:${role}`).join(' or ')}` },
  token: { isPossible: (id) => isRowId(id), message: 'must name the token by its id, as in token:7' },
  room: {
    isPossible: (name) => isRowId(name) || isSlug(name),
    message: 'must name the room by its id or slug, as in room:7 or room:chess-aBcDe12345',
  },
}

const isRole = (name: string): boolean => roles.some((role) => role === name)

const isRowId = (id: string): boolean => /^[1-9]\d*$/.test(id) && Number(id) <= LAST_ROW

/** Slugs end with random characters, so they differ from ids. */
const isSlug = (name: string): boolean => /^[A-Za-z0-9-]{1,140}$/.test(name) && name.includes('-')

/** Usernames are stored in lower case, which can make them longer. */
const isPossibleName = (subject: LimitSubject, name: string): boolean =>
  (subject === 'user' ? name.toLowerCase() : name).length <= (MAX_NAME[subject] ?? 0)

const MICROS = 1_000_000

const timeZone = z.string().max(64).refine(isTimeZone, 'must be a time zone such as Europe/Berlin')

const amount = z
  .number()
  .min(0)
  .max(1_000_000_000_000, 'is too large')
  .refine((value) => value === 0 || Math.round(value * MICROS) > 0, { error: 'is too small', abort: true })

/** One limit as an administrator writes it. Amounts of money are in units of the currency. */
export const limitEntry = z
  .strictObject({
    name: z
      .string()
      .trim()
      .regex(/^[\p{L}\p{N}][\p{L}\p{N} ._-]{0,79}$/u, 'must be at most 80 letters, digits, spaces and . _ -'),
    for: limitTarget,
    cap: amount,
    unit: z
      .string()
      .regex(
        /^(requests|tokens|calls|[A-Z]{3})$/,
        'must be requests, tokens, calls (of tools) or a currency code such as EUR',
      ),
    per: z.enum(limitPeriods),
    timeZone: timeZone.optional(),
    mode: z.enum(limitModes).default('enforce'),
    unpriced: amount
      .optional()
      .describe('The amount that a call without a known price counts, in units of the currency.'),
    countFrom: z
      .enum(['period', 'now'])
      .default('period')
      .describe('`now` begins the count at 0. If absent, the recorded calls of the current period count.'),
  })
  .refine(({ unit, cap }) => isMoney(unit) || Number.isInteger(cap), {
    path: ['cap'],
    message: 'must be a whole number',
    when: hasAmount,
  })
  .refine(({ unit, unpriced }) => isMoney(unit) || unpriced === undefined, {
    path: ['unpriced'],
    message: 'belongs to limits in money',
    when: hasUnit,
  })
  .superRefine(({ for: target, unit }, ctx) => {
    const message = findUnitError(parseSubject(target)?.subject, unit)
    if (message) ctx.addIssue({ code: 'custom', path: ['unit'], message })
  })
  .refine(({ unit, cap, unpriced = 0 }) => !isMoney(unit) || Math.max(cap, unpriced) <= MAX_CAP / MICROS, {
    path: ['cap'],
    message: 'is too large',
    when: hasAmount,
  })
export type LimitEntry = z.output<typeof limitEntry>

/** Schema of the file that LIMITS names. */
export const limitsConfig = z
  .strictObject({ timeZone: timeZone.default('UTC'), limits: z.array(limitEntry).max(1000) })
  .superRefine(({ limits }, ctx) => {
    for (const [index, { name }] of limits.entries()) {
      if (limits.findIndex((other) => other.name === name) === index) continue
      ctx.addIssue({ code: 'custom', path: ['limits', index, 'name'], message: `there are two limits named ${name}` })
    }
  })
export type LimitsConfig = z.output<typeof limitsConfig>

interface CheckedEntry {
  value: unknown
  issues: readonly { path?: readonly PropertyKey[] | undefined }[]
}

const isFaulty = ({ issues }: CheckedEntry, member: string) => issues.some(({ path }) => path?.[0] === member)

/** Lets rules over several members report their faults beside those of other members. */
function hasUnit(entry: CheckedEntry): boolean {
  return typeof entry.value === 'object' && entry.value !== null && !isFaulty(entry, 'unit')
}

function hasAmount(entry: CheckedEntry): boolean {
  return hasUnit(entry) && !isFaulty(entry, 'cap') && !isFaulty(entry, 'unpriced')
}

const countedUnits = ['requests', 'tokens', 'calls'] as const

const isMoney = (unit: string) => !countedUnits.some((counted) => counted === unit)

/** Subjects that have calls of tools, and those that have nothing else. */
const subjectsOfCalls: readonly LimitSubject[] = ['installation', 'role', 'group', 'user', 'token']
const toolSubjects: readonly LimitSubject[] = ['tool-server', 'tool']

/** Returns the reason why a kind of subject cannot have a limit in this unit. */
function findUnitError(subject: LimitSubject | undefined, unit: string): string | undefined {
  if (subject === undefined) return undefined
  const isOfTools = toolSubjects.includes(subject)
  if (unit !== 'calls') return isOfTools ? 'must be calls, because the limit is for tools' : undefined
  const isPossible = isOfTools || subjectsOfCalls.includes(subject)
  return isPossible ? undefined : `cannot be calls, which are those of tools, in a limit for each ${subject} or one`
}

/** Converts an entry to columns. */
export function toLimitColumns(
  { name, for: target, cap, unit, per, mode, unpriced, countFrom }: LimitEntry,
  zone: string,
) {
  const { subject, subjectId } = parseTarget(target)
  const factor = isMoney(unit) ? MICROS : 1
  return {
    name,
    subject,
    subjectId,
    unit: isMoney(unit) ? ('money' as const) : (unit as (typeof countedUnits)[number]),
    currency: isMoney(unit) ? unit : null,
    cap: Math.round(cap * factor),
    unpricedCost: unpriced === undefined ? null : Math.round(unpriced * MICROS),
    period: per,
    timeZone: zone,
    mode,
    countFrom,
    active: true,
  }
}

/** Refuses offsets: the database counts them in the other direction, or does not know them. */
function isTimeZone(name: string): boolean {
  try {
    if (/^[+-]/.test(name)) return false
    return Boolean(new Intl.DateTimeFormat('en', { timeZone: name }))
  } catch {
    return false
  }
}
