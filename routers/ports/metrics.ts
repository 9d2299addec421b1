import type { Outcome } from '../../entities/ai/usage-record.ts'

/** A call of a model, without its caller. */
export interface MeasuredCall {
  model: string
  provider: string
  outcome: Outcome
  durationMs: number
  /** Time until the first piece of the answer; undefined if there was none. */
  firstPieceMs: number | undefined
  inputTokens: number
  outputTokens: number
  cachedTokens: number
  cacheWriteTokens: number
  reasoningTokens: number
  costMicros: number | null
  currency: string | null
  estimated: boolean
}

/** Current numbers of open things, by name. */
export type Gauges = Partial<Record<GaugeName, number>>
export type GaugeName =
  | 'svc_sockets'
  | 'svc_streams'
  | 'svc_change_lag_seconds'
  | 'svc_db_pool_connections'
  | 'svc_db_pool_waiting'
  | 'svc_audit_anchor_age_seconds'

/** Numbers that are sampled periodically, because they need the database or the disk. */
export interface MetricsSample {
  jobs: readonly { queue: string; state: 'waiting' | 'running' | 'failed'; count: number }[]
  /** Amounts reserved by calls in progress: requests, tokens, or an amount of a currency. */
  reserved: readonly { limit: string; unit: string; amount: number }[]
  /** Free bytes on the disk of the file store. */
  diskFree: number
  /** Seconds since the oldest call under way reserved its budget; 0 if there is none. */
  reservationAge: number
  /** Seconds since the last backup; undefined if the audit log knows of none. */
  backupAge: number | undefined
}

/** Metrics of this process for operators. */
export interface Metrics {
  countRequest(request: { surface: string; status: number; seconds: number }): void
  countCall(call: MeasuredCall): void
  /** Counts a call that a limit refused. */
  countRefusal(limit: string): void
  /** Counts a call that was answered by a fallback of this model. */
  countFallback(model: string): void
  /** Counts a retried request to a provider. */
  countRetry(provider: string): void
  /** Records that this replica wrote an anchor of the audit log. */
  recordAnchor(): void
  /** Replaces the last sample; undefined if sampling failed. */
  setSample(sample: MetricsSample | undefined): void
  /** Records that the circuit breaker of a provider opened or closed. */
  setProviderState(provider: string, isOpen: boolean): void
  /** Reads gauges at every scrape. */
  watch(read: () => Gauges): void
  /** Renders all metrics in the Prometheus format. */
  render(): Promise<string>
}
