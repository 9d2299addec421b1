import { defineEntity, p } from '@mikro-orm/core'
import { moment } from '../sql/columns.ts'
import { UsageLimit } from './usage-limit.ts'

/**
 * What is used of a limit in one period, and held by calls under way. A limit that many share has several counters (stripes)
 * a period, each with its share of the cap: used + held never exceed the share, and the shares never the cap.
 */
export const UsageCounter = defineEntity({
  name: 'UsageCounter',
  tableName: 'usage_counters',
  indexes: [{ properties: ['endsAt'] }],
  uniques: [{ properties: ['limit', 'subjectId', 'startsAt', 'stripe'] }],
  properties: {
    id: p.bigint('number').primary(),
    limit: () => p.manyToOne(UsageLimit).deleteRule('cascade').ref(),
    /** Whose: the id or name of the limit's subject; empty for the installation. */
    subjectId: p.string().length(200),
    startsAt: moment(),
    endsAt: moment(),
    stripe: p.smallint(),
    used: p.bigint('number').default(0),
    held: p.bigint('number').default(0),
    share: p.bigint('number'),
    /** The cap that the shares were made from, without what was topped up. */
    cap: p.bigint('number'),
    /** What an administrator gave beside the cap, on the first stripe only. */
    toppedUp: p.bigint('number').default(0),
    /** Calls that were refused, or in the mode `observe` would have been. */
    refused: p.bigint('number').default(0),
  },
})
