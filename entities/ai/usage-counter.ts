import { defineEntity, p } from '@mikro-orm/core'
import { moment } from '../sql/columns.ts'
import { UsageLimit } from './usage-limit.ts'

/**
 * The used and the reserved amount of a limit in one period, whose sum never exceeds the cap. There is one row per
 * limit, subject and period.
 */
export const UsageCounter = defineEntity({
  name: 'UsageCounter',
  tableName: 'usage_counters',
  indexes: [{ properties: ['endsAt'] }],
  uniques: [{ properties: ['limit', 'subjectId', 'startsAt', 'stripe'] }],
  checks: [{ name: 'usage_counters_stripe_check', expression: 'stripe = 0' }],
  properties: {
    id: p.bigint('number').primary(),
    limit: () => p.manyToOne(UsageLimit).deleteRule('cascade').ref(),
    /** The id or name of the limit's subject; empty for the installation. */
    subjectId: p.string().length(200),
    startsAt: moment(),
    endsAt: moment(),
    used: p.bigint('number').default(0),
    held: p.bigint('number').default(0),
    /** Amount that an administrator has added to the cap. */
    toppedUp: p.bigint('number').default(0),
    /** Number of refused calls, or of those that mode `observe` would have refused. */
    refused: p.bigint('number').default(0),
    /** Always 0. Replicas of the previous release use this and the next two columns during a rollout. */
    stripe: p.smallint().default(0),
    share: p.bigint('number').default(0),
    cap: p.bigint('number').default(-1),
  },
})
