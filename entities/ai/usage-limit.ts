import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { id, timestamps } from '../sql/columns.ts'

/** Whose calls a limit counts, widest first. */
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
] as const
export type LimitSubject = (typeof limitSubjects)[number]

const limitUnits = ['requests', 'tokens', 'money'] as const
export type LimitUnit = (typeof limitUnits)[number]

export const limitPeriods = ['minute', 'hour', 'day', 'week', 'month'] as const
export type LimitPeriod = (typeof limitPeriods)[number]

/** `observe` refuses nothing and counts what would have been refused. */
export const limitModes = ['enforce', 'observe'] as const

/** A cap on calls of models in each calendar period. */
export const UsageLimit = defineEntity({
  name: 'UsageLimit',
  tableName: 'usage_limits',
  properties: {
    id,
    ...timestamps,
    name: p.string().length(80).unique(),
    subject: p.enum(limitSubjects),
    /** Which one; null gives each one of the kind a count of its own. */
    subjectId: p.string().length(200).nullable(),
    unit: p.enum(limitUnits),
    period: p.enum(limitPeriods),
    /** In which a day, a week and a month begin. */
    timeZone: p.string().length(64),
    /** In requests, tokens or millionths of the currency. */
    cap: p.bigint('number'),
    currency: p.character().length(3).nullable(),
    /** What a call without a known price counts, in millionths of the currency; null refuses it. */
    unpricedCost: p.bigint('number').nullable(),
    mode: p.enum(limitModes).default('enforce'),
    active: p.boolean().default(true),
    /** Whether it stands in the file that LIMITS names. */
    fromFile: p.boolean().default(false),
    /** Only replicas of the previous release use this, while a rollout lasts. */
    stripes: p.smallint().default(1),
  },
})
export type UsageLimit = InferEntity<typeof UsageLimit>

/** One row whose number rises with each change of a limit, so that every process sees that those it knows are old. */
export const UsageLimitVersion = defineEntity({
  name: 'UsageLimitVersion',
  tableName: 'usage_limit_versions',
  properties: {
    id: p.integer().primary(),
    version: p.integer(),
  },
})
