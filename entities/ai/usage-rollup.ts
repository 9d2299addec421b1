import { defineEntity, p } from '@mikro-orm/core'
import { User } from '../identity/user.ts'
import { outcomes, usageContexts } from './usage-record.ts'

const total = () => p.bigint('number')

/** The calls of a day that are no longer kept one by one, as sums. A call stands in a usage record or in one of these. */
export const UsageRollup = defineEntity({
  name: 'UsageRollup',
  tableName: 'usage_rollups',
  indexes: [{ properties: ['user', 'day'] }],
  properties: {
    id: p.bigint('number').primary(),
    /** In UTC. */
    day: p.date().index(),
    /** The first day of the month on whose bill the calls stand, where theirs was closed before they were recorded. */
    billed: p.date().nullable().index(),
    user: () => p.manyToOne(User).deleteRule('set null').nullable().ref(),
    roomId: p.integer().nullable(),
    appId: p.integer().nullable(),
    context: p.enum(usageContexts),
    provider: p.string().length(120),
    model: p.string().length(200),
    outcome: p.enum(outcomes),
    currency: p.character().length(3).nullable(),
    requests: p.integer(),
    /** Of which some tokens are our own count. */
    estimated: p.integer(),
    /** Of which no price was known. */
    unpriced: p.integer(),
    inputTokens: total(),
    outputTokens: total(),
    cachedTokens: total(),
    cacheWriteTokens: total(),
    reasoningTokens: total(),
    webSearches: total().default(0),
    webFetches: total().default(0),
    /** In millionths of the currency; absent where no price was known. */
    costMicros: total().nullable(),
  },
})
