import { type KnownTokens, type NativeUses, noUses } from '../catalogue/pricing.ts'
import type { NativeTool } from '../ports/ai/adapters.ts'
import { estimateTokens } from '../ports/ai/token-estimate.ts'
import type { ReportedTokens } from '../ports/ai/usage-meter.ts'

/**
 * Tokens and native tool uses of a call. Cached and cache-written tokens are part of the input, reasoning tokens of the
 * output.
 */
export interface TokenCounts extends NativeUses {
  input: number
  output: number
  cached: number
  cacheWrite: number
  reasoning: number
  /** True if the provider did not report everything and part of it is our own count. */
  estimated: boolean
}

export const noTokens: TokenCounts = {
  input: 0,
  output: 0,
  cached: 0,
  cacheWrite: 0,
  reasoning: 0,
  ...noUses,
  estimated: false,
}

/** The most that a provider may count for a request; infinite if unknown. */
interface MaxCounts {
  /** In our tokens. */
  input: number
  /** Output that the provider bills without sending it, in its own tokens. */
  unseenOutput: number
  /** True if the request asks for thoughts, or lets the provider use its own tools. */
  hasUnseenOutput: boolean
  /** True if the provider turns tools or a schema of the answer into instructions. */
  hasInstructions: boolean
  /** Number of messages in the request. */
  messages: number
}

/**
 * Bytes of one token in our estimate, at most. A provider's token has at least one byte, so it counts at most this many
 * times our number.
 */
const BYTES_PER_TOKEN = 4

/**
 * Tokens that providers add to a request: the chat template with a system prompt of their own, or also instructions for
 * tools and for a schema; and those added to each message.
 */
const TEMPLATE_TOKENS = 1000
const INSTRUCTION_TOKENS = 4000
const TOKENS_PER_MESSAGE = 20

/** Tokens of an answer that are not sent, such as the marks of turns, and those around the name of a called tool. */
const UNSENT_TOKENS = 256
const TOKENS_PER_CALL = 32

/** More native tool uses than any request has. */
const MAX_USES = 1000

/** The longest context of any model. */
const MAX_CONTEXT = 10_000_000

/** Returns the most that a provider may count for what we count as so many tokens, with those that it adds. */
export const boundTokens = (tokens: number, addedTokens = INSTRUCTION_TOKENS) =>
  Math.min(Math.ceil(BYTES_PER_TOKEN * tokens) + addedTokens, MAX_CONTEXT)

const listCounts = (reported: ReportedTokens) => Object.entries(reported) as [keyof ReportedTokens, number][]

/**
 * Counts one request. The provider's total takes precedence over its running total, and that over our count of what
 * came later. Its counts are capped by the bytes sent and received; where it bills output that it does not send, by the
 * requested answer length.
 */
export class RequestMeter {
  /** The most input tokens that the provider may count. */
  readonly maxInput: number
  readonly #requestMax: MaxCounts
  /** Bytes received so far. */
  #receivedBytes = 0
  #hasUnseenOutput: boolean
  readonly #inputEstimate: number
  /** Tokens of native tool results that the provider's input count does not include yet. */
  #toolTokens = 0
  #reportedTokens: ReportedTokens = {}
  #answer = { pieces: 0, tokens: 0 }
  #reasoning = { pieces: 0, tokens: 0 }
  readonly #uses: Record<NativeTool, number> = { web_search: 0, web_fetch: 0 }
  /** True if the provider's last report includes what is received now. */
  #isReported = false
  /** True if any content was received. */
  #hasContent = false

  constructor(inputEstimate: number, maxInput: number, most: MaxCounts) {
    this.#inputEstimate = inputEstimate
    this.maxInput = maxInput
    this.#requestMax = most
    this.#hasUnseenOutput = most.hasUnseenOutput
  }

  /** Returns the provider's counts if one of them is implausible. */
  get implausibleCounts(): ReportedTokens | undefined {
    const most = this.#maxPlausible
    return listCounts(this.#reportedTokens).some(([name, count]) => count > most[name])
      ? this.#reportedTokens
      : undefined
  }

  /** The provider's counts, capped at plausible values. */
  get #plausibleCounts(): ReportedTokens {
    const most = this.#maxPlausible
    return Object.fromEntries(
      listCounts(this.#reportedTokens).map(([name, count]) => [name, Math.min(count, most[name])]),
    )
  }

  get #maxPlausible(): Record<keyof ReportedTokens, number> {
    const { input: maxInput, hasInstructions, messages } = this.#requestMax
    const addedTokens = (hasInstructions ? INSTRUCTION_TOKENS : TEMPLATE_TOKENS) + TOKENS_PER_MESSAGE * messages
    const input = boundTokens(maxInput + this.#toolTokens, addedTokens)
    const sentOutput = this.#receivedBytes + UNSENT_TOKENS
    const output = this.#billsUnseenOutput ? Math.max(sentOutput, this.#requestMax.unseenOutput) : sentOutput
    return {
      input,
      cached: input,
      cacheWrite: input,
      output,
      reasoning: output,
      total: input + output,
      webSearches: MAX_USES,
      webFetches: MAX_USES,
    }
  }

  get #billsUnseenOutput(): boolean {
    const { input = 0, output = 0, reasoning = 0, total = 0 } = this.#reportedTokens
    // Some servers count thoughts in the total alone.
    const isInTotal = output > 0 && total >= input + output
    return this.#hasUnseenOutput || reasoning > 0 || isInTotal
  }

  get isEmpty(): boolean {
    return Object.keys(this.#reportedTokens).length === 0 && this.#answer.pieces + this.#reasoning.pieces === 0
  }

  reportTokens(tokens: ReportedTokens = {}): void {
    const knownTokens = Object.entries(tokens).flatMap(([name, count]) =>
      // Providers do not take back counts, so a later zero is ignored.
      count === undefined || (count === 0 && this.#reportedTokens[name as keyof ReportedTokens])
        ? []
        : [[name, Math.min(count, MAX_TOKENS)]],
    )
    this.#reportedTokens = { ...this.#reportedTokens, ...Object.fromEntries(knownTokens) }
    if (tokens.input !== undefined) this.#toolTokens = 0
    // A report of zero includes no content.
    this.#isReported = Boolean(tokens.output ?? tokens.total)
    if (!this.#isReported) return
    this.#answer = { pieces: 0, tokens: 0 }
    this.#reasoning = { pieces: 0, tokens: 0 }
  }

  recordText(text: string, kind: 'answer' | 'reasoning'): void {
    if (text === '') return
    this.#hasContent = true
    this.#receivedBytes += Buffer.byteLength(text)
    if (this.#isReported) return
    const received = kind === 'answer' ? this.#answer : this.#reasoning
    received.pieces += 1
    received.tokens += estimateTokens(text)
  }

  recordUnseen(): void {
    this.#hasUnseenOutput = true
  }

  recordCall(name: string): void {
    this.#receivedBytes += Buffer.byteLength(name) + TOKENS_PER_CALL
  }

  recordToolUse(tool: NativeTool, times: number): void {
    this.#uses[tool] += times
  }

  addToolTokens(tokens: number): void {
    this.#toolTokens += tokens
  }

  /**
   * Counts for a bound of the cost. Without a report of the provider the input may be longer than our estimate, and
   * cached or not.
   */
  get knownTokens(): KnownTokens {
    if (this.#counts.input !== undefined) return this.tokens
    return { ...this.tokens, input: this.maxInput + Math.ceil(this.#toolTokens), cached: undefined }
  }

  /** Answer tokens that the provider has reported so far. */
  get reportedOutput(): number {
    return this.#plausibleCounts.output ?? 0
  }

  get tokens(): TokenCounts {
    const { cached = 0, cacheWrite = 0, reasoning = 0, webSearches, webFetches } = this.#plausibleCounts
    const { input, output, isSplitTotal } = this.#counts
    const [answerTokens, reasoningTokens] = [estimatePieceTokens(this.#answer), estimatePieceTokens(this.#reasoning)]
    return {
      input: (input ?? this.#inputEstimate) + Math.ceil(this.#toolTokens),
      output: (output ?? 0) + answerTokens + reasoningTokens,
      cached,
      cacheWrite,
      reasoning: reasoning + reasoningTokens,
      webSearches: webSearches ?? Math.max(0, this.#uses.web_search),
      webFetches: webFetches ?? Math.max(0, this.#uses.web_fetch),
      estimated:
        isSplitTotal ||
        input === undefined ||
        output === undefined ||
        this.#toolTokens + answerTokens + reasoningTokens > 0 ||
        this.implausibleCounts !== undefined,
    }
  }

  /** True if the provider reported input or output. */
  get #hasReportedTokens(): boolean {
    return Boolean(this.#reportedTokens.input) || Boolean(this.#reportedTokens.output)
  }

  /**
   * Input and output of the provider's report. A zero counts as missing if content was received. If only a total is
   * reported, our estimate is its input share.
   */
  get #counts(): { input: number | undefined; output: number | undefined; isSplitTotal: boolean } {
    const { input, output, total } = this.#plausibleCounts
    if (total && !this.#hasReportedTokens) {
      const share = Math.min(total, this.#inputEstimate)
      return { input: share, output: total - share, isSplitTotal: true }
    }
    const dropFalseZero = (count: number | undefined) => (count === 0 && this.#hasContent ? undefined : count)
    return { input: dropFalseZero(input), output: dropFalseZero(output), isSplitTotal: false }
  }
}

/** A piece has at least one token. */
const estimatePieceTokens = ({ pieces, tokens }: { pieces: number; tokens: number }) =>
  Math.max(pieces, Math.ceil(tokens))

/** Maximum of the column in the usage record. */
const MAX_TOKENS = 2_147_483_647

export function addTokenCounts(one: TokenCounts, other: TokenCounts): TokenCounts {
  const add = (name: Exclude<keyof TokenCounts, 'estimated'>) => Math.min(one[name] + other[name], MAX_TOKENS)
  return {
    input: add('input'),
    output: add('output'),
    cached: add('cached'),
    cacheWrite: add('cacheWrite'),
    reasoning: add('reasoning'),
    webSearches: add('webSearches'),
    webFetches: add('webFetches'),
    estimated: one.estimated || other.estimated,
  }
}
