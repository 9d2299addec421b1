import type { Outcome } from '../../entities/ai/usage-record.ts'

/** A call of a model, without who made it. */
export interface MeasuredCall {
  model: string
  provider: string
  outcome: Outcome
  durationMs: number
  /** Until the first piece of the answer; nothing where none came. */
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

/** What is open now, by its name. */
export type Gauges = Partial<Record<GaugeName, number>>
export type GaugeName =
  | 'svc_sockets'
  | 'svc_streams'
  | 'svc_change_lag_seconds'
  | 'svc_db_pool_connections'
  | 'svc_db_pool_waiting'

/** Numbers that are read now and then, as the database and the disk must be asked for them. */
export interface MetricsSample {
  jobs: readonly { queue: string; state: 'waiting' | 'running' | 'failed'; count: number }[]
  /** Calls under way reserve it of limits: requests, tokens, or an amount of a currency. */
  reserved: readonly { limit: string; unit: string; amount: number }[]
  /** Bytes that are free where files are kept. */
  diskFree: number
}

/** Counts what operators see of this process. */
export interface Metrics {
  countRequest(request: { surface: string; status: number; seconds: number }): void
  countCall(call: MeasuredCall): void
  /** A limit had no room for a call. */
  countRefusal(limit: string): void
  /** Another model answered in place of this one. */
  countFallback(model: string): void
  /** A request to a provider was made again, as the one before it failed for a moment. */
  countRetry(provider: string): void
  /** Replaces the sample before; nothing where there could be none. */
  setSample(sample: MetricsSample | undefined): void
  /** The calls of a provider fail at once, or go to it again. */
  setProviderState(provider: string, isOpen: boolean): void
  /** Reads gauges whenever the numbers are asked for. */
  watch(read: () => Gauges): void
  /** All numbers as Prometheus reads them. */
  render(): Promise<string>
}
