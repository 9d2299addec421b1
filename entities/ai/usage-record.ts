import { defineEntity, p } from '@mikro-orm/core'
import { AccessToken } from '../identity/access-token.ts'
import { User } from '../identity/user.ts'
import { moment } from '../sql/columns.ts'

/** Contexts of a call: with a token, with a session, in a room, or by an external app that holds a token. */
export const usageContexts = ['api', 'private', 'group', 'external'] as const
export type UsageContext = (typeof usageContexts)[number]
/**
 * `cut`: the answer ended because its reservation did. `refused`: the provider refused to answer completely. `lost`:
 * the process died before the call ended.
 */
export const outcomes = ['completed', 'cut', 'refused', 'failed', 'aborted', 'lost'] as const
export type Outcome = (typeof outcomes)[number]

/** A call of a tool has a record only if it has a price; its model is the tool, and its provider the label of the server. */
export const usageKinds = ['model', 'tool'] as const

/** Names of usage counts. Cached tokens are part of the input, reasoning tokens of the output. */
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

/** The model of a call and the request that made it, in records and reservations. */
export const callColumns = {
  context: p.enum(usageContexts),
  provider: p.string().length(120),
  model: p.string().length(200),
  /** The assistant that was asked, with its version, as in `helper@3`; null for a model that was asked itself. */
  assistant: p.string().length(80).nullable(),
  requestId: p.string().length(64),
}

/** A record or reservation has these columns about the use of a call beside its input, and about its cost. */
export const usageColumns = {
  outputTokens: p.integer().default(0),
  /** Read from the provider's cache; part of the input tokens. */
  cachedTokens: p.integer().default(0),
  /** Written to the provider's cache; part of the input tokens. */
  cacheWriteTokens: p.integer().default(0),
  /** Part of the output tokens. */
  reasoningTokens: p.integer().default(0),
  /** Web searches by the provider's own tool. */
  webSearches: p.integer().default(0),
  /** Web pages that the provider fetched. */
  webFetches: p.integer().default(0),
  /** Millionths of the currency; absent if no price is known. */
  costMicros: p.bigint('number').nullable(),
  currency: p.character().length(3).nullable(),
  /** Version of the price. */
  priceId: p.integer().nullable(),
}

/** A call of a model, or of a tool with a price, without its texts. It outlives the person and the token. */
export const UsageRecord = defineEntity({
  name: 'UsageRecord',
  tableName: 'usage_records',
  indexes: [{ properties: ['user', 'createdAt'] }],
  properties: {
    id: p.bigint('number').primary(),
    createdAt: moment().defaultRaw('now()').index(),
    user: () => p.manyToOne(User).deleteRule('set null').nullable().ref(),
    token: () => p.manyToOne(AccessToken).deleteRule('set null').nullable().index().ref(),
    /** The room in which it was asked, if any; the room may be deleted. */
    roomId: p.integer().nullable(),
    /** The external app that asked, if any; the app may be deleted. */
    appId: p.integer().nullable(),
    kind: p.enum(usageKinds).default('model'),
    ...callColumns,
    inputTokens: p.integer().default(0),
    ...usageColumns,
    /** True if a count is our estimate, because the provider reported none. */
    estimated: p.boolean().default(false),
    outcome: p.enum(outcomes),
    durationMs: p.integer(),
    /** Time until the first piece of the answer, which may be all of it; absent if there was none. */
    firstPieceMs: p.integer().nullable(),
  },
})
