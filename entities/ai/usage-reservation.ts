import { defineEntity, p } from '@mikro-orm/core'
import { moment } from '../sql/columns.ts'
import { callColumns, usageColumns } from './usage-record.ts'

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
    ...callColumns,
    /** The estimate before the call, later the count at the last renewal; the same holds for the counts that follow. */
    inputTokens: p.integer(),
    ...usageColumns,
    /** Counters on which amounts are reserved, and the amounts. */
    counters: p.array(Number).columnType('bigint[]'),
    amounts: p.array(Number).columnType('bigint[]'),
    /** Charge of each counter at the end of the call. */
    measures: p.array().$type<Measure[]>(),
    /** Known only to the person for whose later call this is reserved; null for a call in progress. */
    ticket: p.uuid().nullable(),
  },
})
