import { defineEntity, p } from '@mikro-orm/core'
import { moment } from '../sql/columns.ts'
import { UsageLimit } from './usage-limit.ts'

/**
 * What is used of a limit in one period, and reserved by calls under way: together never more than the cap. There is one row
 * for each limit, subject and period.
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
    /** Whose: the id or name of the limit's subject; empty for the installation. */
    subjectId: p.string().length(200),
    startsAt: moment(),
    endsAt: moment(),
    used: p.bigint('number').default(0),
    held: p.bigint('number').default(0),
    /** What an administrator gave beside the cap. */
    toppedUp: p.bigint('number').default(0),
    /** Calls that were refused, or in the mode `observe` would have been. */
    refused: p.bigint('number').default(0),
    /** Always 0. Only replicas of the previous release use this and the next two columns, while a rollout lasts. */
    stripe: p.smallint().default(0),
    share: p.bigint('number').default(0),
    cap: p.bigint('number').default(-1),
  },
})
