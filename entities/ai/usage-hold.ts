import { defineEntity, p } from '@mikro-orm/core'
import { moment } from '../sql/columns.ts'
import { usageContexts } from './usage-record.ts'

/** As much as was held, which is nothing where no price is known, or the tokens or the cost that the call took. */
export type Measure = 'amount' | 'unpriced' | 'tokens' | 'cost'

/**
 * A call of a model under way, which becomes a usage record with the same id when it ends. It refers to no other row by a
 * foreign key, and has no index but its own: it lives as long as the call, and each one would cost every call.
 */
export const UsageHold = defineEntity({
  name: 'UsageHold',
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
    /** As estimated before the call, and as of the last renewal then; as all that follows. */
    inputTokens: p.integer(),
    outputTokens: p.integer().default(0),
    cachedTokens: p.integer().default(0),
    cacheWriteTokens: p.integer().default(0),
    reasoningTokens: p.integer().default(0),
    /** In millionths of the currency; absent where no price is known. */
    costMicros: p.bigint('number').nullable(),
    currency: p.character().length(3).nullable(),
    /** The version of the price by which the call is paid. */
    priceId: p.integer().nullable(),
    /** The counters that the call holds a part of, and how much of each. */
    counters: p.array(Number).columnType('bigint[]'),
    amounts: p.array(Number).columnType('bigint[]'),
    /** What of each is used in the end. */
    measures: p.array().$type<Measure[]>(),
  },
})
