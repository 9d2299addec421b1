import type { NativeTool } from './adapters.ts'

/** Tokens of one request, and uses of tools of its own, as the provider counts them; undefined where it does not. */
export interface ReportedTokens {
  /** With the cached ones. */
  input?: number | undefined
  /** With reasoning. */
  output?: number | undefined
  cached?: number | undefined
  cacheWrite?: number | undefined
  reasoning?: number | undefined
  /** Input and output together, which counts where neither is told of. */
  total?: number | undefined
  webSearches?: number | undefined
  webFetches?: number | undefined
}

/** Hears what a call takes while it runs, so that it is counted however it ends. */
export interface UsageMeter {
  /**
   * A request goes to the provider, or must not where this throws. Our estimate of what it holds counts where the provider
   * does not say.
   */
  startRequest(inputTokens: number): Promise<void>
  /** The request failed at the provider: where nothing came of it, it took nothing. */
  failRequest(): void
  /** What the request has taken so far, up to and with the piece that comes next; nothing where the piece says nothing. */
  reportTokens(tokens: ReportedTokens | undefined): void
  /** The provider used a tool of its own so many times more; holds where it does not say how often it did in all. */
  recordToolUse(tool: NativeTool, times: number): void
  /** Tools of the provider found so many tokens by our estimate, which are input until it says more of that. */
  addToolTokens(tokens: number): void
  /** A piece of what the provider sent. */
  recordText(text: string, kind: 'answer' | 'reasoning'): void
}
