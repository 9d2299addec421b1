import { defineEntity, p } from '@mikro-orm/core'
import { AccessToken } from '../identity/access-token.ts'
import { User } from '../identity/user.ts'
import { moment } from '../sql/columns.ts'

/** How somebody asked: with a token, with a session, for an answer in a room, or by an external app that holds their token. */
export const usageContexts = ['api', 'private', 'group', 'external'] as const
export type UsageContext = (typeof usageContexts)[number]
/**
 * `cut`: ended where what was reserved for it did. `refused`: the provider would not answer, or not to the end. `lost`: the
 * process that made the call was gone before it ended.
 */
export const outcomes = ['completed', 'cut', 'refused', 'failed', 'aborted', 'lost'] as const
export type Outcome = (typeof outcomes)[number]

/** The names of the counts of what calls take. Cached tokens are part of the input, reasoning is part of the output. */
export const usageCounts = [
  'inputTokens',
  'outputTokens',
  'cachedTokens',
  'cacheWriteTokens',
  'reasoningTokens',
  'webSearches',
  'webFetches',
] as const
export type UsageCounts = Record<(typeof usageCounts)[number], number>

/** One call of a model, without a word of what was said. It outlives the person and the token. */
export const UsageRecord = defineEntity({
  name: 'UsageRecord',
  tableName: 'usage_records',
  indexes: [{ properties: ['user', 'createdAt'] }],
  properties: {
    id: p.bigint('number').primary(),
    createdAt: moment().defaultRaw('now()').index(),
    user: () => p.manyToOne(User).deleteRule('set null').nullable().ref(),
    token: () => p.manyToOne(AccessToken).deleteRule('set null').nullable().index().ref(),
    /** Where it was asked for, if in a room, which may be gone. */
    roomId: p.integer().nullable(),
    /** Which external app asked, if one did; it may be gone, too. */
    appId: p.integer().nullable(),
    context: p.enum(usageContexts),
    provider: p.string().length(120),
    model: p.string().length(200),
    inputTokens: p.integer().default(0),
    outputTokens: p.integer().default(0),
    /** Read from the provider's cache; part of the input tokens. */
    cachedTokens: p.integer().default(0),
    /** Written to the provider's cache; part of the input tokens. */
    cacheWriteTokens: p.integer().default(0),
    /** Part of the output tokens. */
    reasoningTokens: p.integer().default(0),
    /** How often the provider searched the web for it by a tool of its own. */
    webSearches: p.integer().default(0),
    /** How many pages it fetched so. */
    webFetches: p.integer().default(0),
    /** Whether a count is our own, because the provider gave none. */
    estimated: p.boolean().default(false),
    outcome: p.enum(outcomes),
    durationMs: p.integer(),
    /** Until the first piece of the answer, which may be all of it; absent where none came. */
    firstPieceMs: p.integer().nullable(),
    /** In millionths of the currency; absent where no price is known. */
    costMicros: p.bigint('number').nullable(),
    currency: p.character().length(3).nullable(),
    /** The version of the price that was paid. */
    priceId: p.integer().nullable(),
    requestId: p.string().length(64),
  },
})
