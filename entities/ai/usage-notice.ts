import { defineEntity, p } from '@mikro-orm/core'
import { moment } from '../sql/columns.ts'
import { UsageCounter } from './usage-counter.ts'

/** Records that a part of a limit was used up in one period, so that listeners are told once; deleted with its counter. */
export const UsageNotice = defineEntity({
  name: 'UsageNotice',
  tableName: 'usage_notices',
  properties: {
    /** The first of the limit's counters in the period. */
    counter: () => p.manyToOne(UsageCounter).primary().deleteRule('cascade').ref(),
    percent: p.smallint().primary(),
    createdAt: moment().defaultRaw('now()'),
  },
})
