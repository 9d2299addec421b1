import { defineEntity, p } from '@mikro-orm/core'
import { moment } from '../sql/columns.ts'
import { usageContexts } from './usage-record.ts'

/** Charge of a counter at the end of a call: the reserved amount, nothing (no known price), the tokens, or the cost. */
export type Measure = 'amount' | 'unpriced' | 'tokens' | 'cost'

/**
 * A model call in progress, which becomes a usage record with the same id. It has no foreign keys and no further index,
 * because it is short-lived and each of them would slow down every call.
 */
export const UsageReservation = defineEntity({
  name: 'UsageReservation',
  tableName: 'usage_holds',
  properties: {
    id: p.bigint('number').primary(),
    createdAt: moment().defaultRaw('now()'),
    /** Renewed by the calling process; when it has expired, any process may end the call. */
    leaseUntil: moment(),
    userId: p.integer().nullable(),
    tokenId: p.integer().nullable(),
    roomId: p.integer().nullable(),
    appId: p.integer().nullable(),
    context: p.enum(usageContexts),
    provider: p.string().length(120),
    model: p.string().length(200),
    requestId: p.string().length(64),
    /** The estimate before the call, later the count at the last renewal; the same holds for the next counts. */
    inputTokens: p.integer(),
    outputTokens: p.integer().default(0),
    cachedTokens: p.integer().default(0),
    cacheWriteTokens: p.integer().default(0),
    reasoningTokens: p.integer().default(0),
    webSearches: p.integer().default(0),
    webFetches: p.integer().default(0),
    /** Millionths of the currency; absent if no price is known. */
    costMicros: p.bigint('number').nullable(),
    currency: p.character().length(3).nullable(),
    /** Version of the price. */
    priceId: p.integer().nullable(),
    /** Counters on which amounts are reserved, and the amounts. */
    counters: p.array(Number).columnType('bigint[]'),
    amounts: p.array(Number).columnType('bigint[]'),
    /** Charge of each counter at the end of the call. */
    measures: p.array().$type<Measure[]>(),
  },
})
