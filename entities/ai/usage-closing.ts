import { defineEntity, p } from '@mikro-orm/core'
import { User } from '../identity/user.ts'
import { moment } from '../sql/columns.ts'

/** Groupings of a bill. */
export const billGroupings = ['user', 'group', 'app', 'assistant', 'model', 'provider'] as const
export type BillGrouping = (typeof billGroupings)[number]

/** A month whose bill was frozen when it was closed. */
export const UsageClosing = defineEntity({
  name: 'UsageClosing',
  tableName: 'usage_closings',
  properties: {
    id: p.integer().primary(),
    /** First day of the month. */
    month: p.date().unique(),
    closedAt: moment().defaultRaw('now()'),
    /** The last usage record that the bill may include; later ones count for the next month. */
    lastRecord: p.bigint('number'),
  },
})

const total = () => p.bigint('number')

/** A row of the bill of a closed month. */
export const UsageBill = defineEntity({
  name: 'UsageBill',
  tableName: 'usage_bills',
  indexes: [{ properties: ['closing', 'grouping'] }],
  properties: {
    id: p.bigint('number').primary(),
    closing: () => p.manyToOne(UsageClosing).deleteRule('cascade').ref(),
    grouping: p.enum(billGroupings),
    /**
     * The person for a bill by people, who may be erased; otherwise the name of the group, app, assistant, model or
     * provider, or null.
     */
    user: () => p.manyToOne(User).deleteRule('set null').nullable().index().ref(),
    name: p.string().length(200).nullable(),
    currency: p.character().length(3).nullable(),
    requests: total(),
    estimated: total(),
    unpriced: total(),
    inputTokens: total(),
    outputTokens: total(),
    costMicros: total().nullable(),
  },
})
