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
    /**
     * Always 0. No statement names this column and the next two, so a later version drops them, with the unique, and adds
     * one of the other three columns. Both uniques at once would fail inserts of two replicas that race: of several uniques
     * an insert with a named conflict waits for one alone. Replicas of the previous release name this one.
     */
    stripe: p.smallint().default(0),
    share: p.bigint('number').default(0),
    cap: p.bigint('number').default(-1),
  },
})
