import { defineEntity, p } from '@mikro-orm/core'
import { moment } from '../sql/columns.ts'
import { usageContexts } from './usage-record.ts'

/** What a counter is charged at the end of a call: the reserved amount, nothing (no known price), or its tokens or cost. */
export type Measure = 'amount' | 'unpriced' | 'tokens' | 'cost'

/**
 * A call of a model under way, which becomes a usage record with the same id when it ends. It refers to no other row by a
 * foreign key, and has no index but its own: it lives as long as the call, and each one would cost every call.
 */
export const UsageReservation = defineEntity({
  name: 'UsageReservation',
  tableName: 'usage_holds',
  properties: {
    id: p.bigint('number').primary(),
    createdAt: moment().defaultRaw('now()'),
    /** Renewed by the process that makes the call; afterwards any process may end the call in its place. */
    leaseUntil: moment(),
    userId: p.integer().nullable(),
    tokenId: p.integer().nullable(),
    roomId: p.integer().nullable(),
    appId: p.integer().nullable(),
    context: p.enum(usageContexts),
    provider: p.string().length(120),
    model: p.string().length(200),
    requestId: p.string().length(64),
    /** The estimate made before the call, later the count at the last renewal; so are the counts that follow. */
    inputTokens: p.integer(),
    outputTokens: p.integer().default(0),
    cachedTokens: p.integer().default(0),
    cacheWriteTokens: p.integer().default(0),
    reasoningTokens: p.integer().default(0),
    webSearches: p.integer().default(0),
    webFetches: p.integer().default(0),
    /** In millionths of the currency; absent where no price is known. */
    costMicros: p.bigint('number').nullable(),
    currency: p.character().length(3).nullable(),
    /** The version of the price by which the call is paid. */
    priceId: p.integer().nullable(),
    /** The counters of which the call reserves a part, and how much of each. */
    counters: p.array(Number).columnType('bigint[]'),
    amounts: p.array(Number).columnType('bigint[]'),
    /** How each counter is charged when the call ends. */
    measures: p.array().$type<Measure[]>(),
  },
})
