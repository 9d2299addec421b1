import { defineEntity, p } from '@mikro-orm/core'
import { User } from '../identity/user.ts'
import { outcomes, usageContexts } from './usage-record.ts'

const total = () => p.bigint('number')

/**
 * Sums of the calls of a day that are no longer kept one by one. A call is either in a usage record or in one of these.
 */
export const UsageRollup = defineEntity({
  name: 'UsageRollup',
  tableName: 'usage_rollups',
  indexes: [{ properties: ['user', 'day'] }],
  properties: {
    id: p.bigint('number').primary(),
    /** In UTC. */
    day: p.date().index(),
    /** First day of the month that bills the calls, if their own month was closed before they were recorded. */
    billed: p.date().nullable().index(),
    user: () => p.manyToOne(User).deleteRule('set null').nullable().ref(),
    roomId: p.integer().nullable(),
    appId: p.integer().nullable(),
    context: p.enum(usageContexts),
    provider: p.string().length(120),
    model: p.string().length(200),
    /** The assistant that was asked, with its version. */
    assistant: p.string().length(80).nullable(),
    outcome: p.enum(outcomes),
    currency: p.character().length(3).nullable(),
    requests: p.integer(),
    /** Requests with estimated tokens. */
    estimated: p.integer(),
    /** Requests without a known price. */
    unpriced: p.integer(),
    inputTokens: total(),
    outputTokens: total(),
    cachedTokens: total(),
    cacheWriteTokens: total(),
    reasoningTokens: total(),
    webSearches: total().default(0),
    webFetches: total().default(0),
    /** Millionths of the currency; absent if no price was known. */
    costMicros: total().nullable(),
  },
})
