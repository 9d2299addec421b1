import { defineEntity, p } from '@mikro-orm/core'
import { User } from '../identity/user.ts'
import { moment } from '../sql/columns.ts'

/** The things by which a bill sums up. */
export const billGroupings = ['user', 'group', 'app', 'model', 'provider'] as const
export type BillGrouping = (typeof billGroupings)[number]

/** A month whose sums are kept as they were when it was closed. */
export const UsageClosing = defineEntity({
  name: 'UsageClosing',
  tableName: 'usage_closings',
  properties: {
    id: p.integer().primary(),
    /** Its first day. */
    month: p.date().unique(),
    closedAt: moment().defaultRaw('now()'),
    /** The last call that it may have summed up; what is recorded behind it counts in the next month. */
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
    /** The person where it sums up by people, who may be gone; else the name of what it is for, or null for what has none. */
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
