import type { Outcome } from '../../entities/ai/usage-record.ts'

/** What is kept of one call of a model. */
export interface UsageEntry {
  userId: number
  tokenId: number | null
  context: 'api' | 'private' | 'group'
  provider: string
  model: string
  inputTokens: number
  outputTokens: number
  cachedTokens: number
  cacheWriteTokens: number
  reasoningTokens: number
  estimated: boolean
  outcome: Outcome
  durationMs: number
  /** Millionths of the currency; null where no price is known. */
  costMicros: number | null
  currency: string | null
  /** The version of the price. */
  priceId: number | null
  requestId: string
}

/** Writes usage records after the answer, many in one statement; `flush` waits until all are in the database. */
export interface UsageLog {
  add(entry: UsageEntry): void
  flush(): Promise<void>
}
