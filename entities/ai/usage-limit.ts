import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { id, moment, timestamps } from '../sql/columns.ts'

/** Subjects of limits, widest first. */
export const limitSubjects = [
  'installation',
  'provider',
  'model',
  'role',
  'group',
  'room',
  'app',
  'user',
  'token',
  'tool-server',
  'tool',
] as const
export type LimitSubject = (typeof limitSubjects)[number]

/** `calls` are those of tools; the others count calls of models. */
const limitUnits = ['requests', 'tokens', 'money', 'calls'] as const
export type LimitUnit = (typeof limitUnits)[number]

export const limitPeriods = ['minute', 'hour', 'day', 'week', 'month'] as const
export type LimitPeriod = (typeof limitPeriods)[number]

/** `observe` refuses nothing, but counts the calls that `enforce` would refuse. */
export const limitModes = ['enforce', 'observe'] as const

/** A cap on calls of models or of tools in each calendar period. */
export const UsageLimit = defineEntity({
  name: 'UsageLimit',
  tableName: 'usage_limits',
  properties: {
    id,
    ...timestamps,
    name: p.string().length(80).unique(),
    subject: p.enum(limitSubjects),
    /** Id or name of the subject; null counts for each subject of the kind separately. */
    subjectId: p.string().length(200).nullable(),
    unit: p.enum(limitUnits),
    period: p.enum(limitPeriods),
    /** Time zone of days, weeks and months. */
    timeZone: p.string().length(64),
    /** In requests, calls of tools, tokens or millionths of the currency. */
    cap: p.bigint('number'),
    currency: p.character().length(3).nullable(),
    /** Cost of a call without a known price, in millionths of the currency; null refuses it. */
    unpricedCost: p.bigint('number').nullable(),
    mode: p.enum(limitModes).default('enforce'),
    active: p.boolean().default(true),
    /** Start of the count if it was asked to begin anew, and not at the start of the period. */
    countsFrom: moment().nullable(),
    /** True if it is in the file that LIMITS names. */
    fromFile: p.boolean().default(false),
    /** Null in new limits. No statement names it, so a later version drops it; replicas of the previous release select it. */
    stripes: p.smallint().nullable().lazy(),
  },
})
export type UsageLimit = InferEntity<typeof UsageLimit>

/** A single row whose version rises with each change of a limit, so that processes notice outdated caches. */
export const UsageLimitVersion = defineEntity({
  name: 'UsageLimitVersion',
  tableName: 'usage_limit_versions',
  properties: {
    id: p.integer().primary(),
    version: p.integer(),
  },
})
