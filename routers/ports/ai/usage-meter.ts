import type { NativeTool } from './adapters.ts'

/**
 * Usage of one request as the provider reports it: tokens, and uses of its tools; undefined where it does not report
 * them.
 */
export interface ReportedTokens {
  /** Includes cached tokens. */
  input?: number | undefined
  /** Includes reasoning tokens. */
  output?: number | undefined
  cached?: number | undefined
  cacheWrite?: number | undefined
  reasoning?: number | undefined
  /** Sum of input and output, for providers that report only this. */
  total?: number | undefined
  webSearches?: number | undefined
  webFetches?: number | undefined
}

/** Measures the usage of a call while it runs, so that it is counted however the call ends. */
export interface UsageMeter {
  /**
   * Starts a request to the provider; throws to prevent it. Our estimate of the input counts until the provider reports
   * usage.
   */
  startRequest(inputTokens: number): Promise<void>
  /** Records that the request failed; without any output it used nothing. */
  failRequest(): void
  /** Records the usage up to and including the next part; undefined changes nothing. */
  reportTokens(tokens: ReportedTokens | undefined): void
  /** Adds uses of a provider tool; they count if the provider does not report a total. */
  recordToolUse(tool: NativeTool, times: number): void
  /** Adds our token estimate of results of provider tools, which counts as input until the provider reports more. */
  addToolTokens(tokens: number): void
  /** Records that the provider made what it does not send as text, and may bill: thoughts, or pictures. */
  recordUnseen(): void
  /** Records the name of a called tool, which is part of the output. */
  recordCall(name: string): void
  /** Records a piece of the provider's output. */
  recordText(text: string, kind: 'answer' | 'reasoning'): void
}
