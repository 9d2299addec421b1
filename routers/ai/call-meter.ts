import type { Pricing } from '../../entities/catalogue/ai-model.ts'
import type { DeepReadonly } from '../../entities/sql/read-only.ts'
import { addCosts, type Cost, computeCost, computeMaxCost, type NativeUses } from '../catalogue/pricing.ts'
import type { NativeTool } from '../ports/ai/adapters.ts'
import {
  type CallProgress,
  QuotaExceeded,
  type Reservation,
  type ReservedAmounts,
  type UsageLedger,
} from '../ports/ai/usage-ledger.ts'
import type { ReportedTokens, UsageMeter } from '../ports/ai/usage-meter.ts'
import type { CallBounds } from './call-bounds.ts'
import { addTokenCounts, noTokens, RequestMeter, type TokenCounts } from './request-meter.ts'

/** Converts infinity to null for the database. */
export const toFiniteOrNull = (most: number): number | null => (most === Infinity ? null : most)

/**
 * Maximum factor by which our count exceeds the provider's, in scripts whose whole words are single tokens for its
 * tokenizer.
 */
const MAX_OVERCOUNT = 4

/** Ends a call because a limit has no room for another round. */
export class LimitCut extends Error {
  override name = 'LimitCut'
  readonly quota: QuotaExceeded | undefined

  /** Has no quota if another process has already settled the call as lost. */
  constructor(quota?: QuotaExceeded) {
    super('a limit has no room for a further round')
    this.quota = quota
  }
}

interface CallMeterOptions {
  pricing: DeepReadonly<Pricing> | null
  bounds: CallBounds
  /** True if the request asks for thoughts. */
  asksForThoughts: boolean
  /** True if the request has tools or a schema of the answer, for which providers add instructions. */
  hasInstructions: boolean
  /** Number of messages in the request, or of texts to embed. */
  messages: number
  reservation: Reservation
  extend: UsageLedger['extend']
}

/**
 * Counts all requests of one call, retries and tool rounds included. Each is priced by its own input length. A request
 * that exceeds the reservation extends it before it is sent.
 */
export class CallMeter implements UsageMeter {
  readonly #options: CallMeterOptions
  #previous: { tokens: TokenCounts; cost?: Cost } = { tokens: noTokens }
  #request: RequestMeter | undefined
  /** Time of the first piece, by `performance.now()`. */
  #firstPieceAt: number | undefined
  /** Implausible counts that providers reported for earlier requests. */
  #earlierImplausibleCounts: ReportedTokens[] = []

  constructor(options: CallMeterOptions) {
    this.#options = options
  }

  /**
   * Begins the next request and extends the reservation for it. Throws before anything is sent if the limits have no
   * room.
   */
  async startRequest(inputTokens: number): Promise<void> {
    await this.#extendReservation(inputTokens)
    if (this.#request) this.#previous = { tokens: this.tokens, cost: this.cost }
    this.#earlierImplausibleCounts = this.implausibleCounts
    const { bounds, asksForThoughts, hasInstructions, messages, reservation } = this.#options
    const { computeInput, unseenOutput, uses } = bounds
    const maxInput = computeInput(inputTokens)
    const hasNativeTools = uses.webSearches + uses.webFetches > 0
    this.#request = new RequestMeter(inputTokens, maxInput, {
      // Search results have no bound, and the provider may count the whole input again after each search or page.
      input: hasNativeTools ? Infinity : maxInput,
      unseenOutput,
      hasUnseenOutput: asksForThoughts || hasNativeTools,
      hasInstructions,
      messages,
    })
    // Until now the progress was what was reserved.
    reservation.progress = this.#progress
  }

  failRequest(): void {
    if (this.#request?.isEmpty) this.#request = undefined
  }

  reportTokens(tokens: ReportedTokens | undefined): void {
    this.#request?.reportTokens(tokens)
  }

  recordUnseen(): void {
    this.#request?.recordUnseen()
  }

  recordCall(name: string): void {
    this.#request?.recordCall(name)
  }

  recordToolUse(tool: NativeTool, times: number): void {
    this.#request?.recordToolUse(tool, times)
  }

  addToolTokens(tokens: number): void {
    this.#request?.addToolTokens(tokens)
  }

  recordText(text: string, kind: 'answer' | 'reasoning'): void {
    this.#firstPieceAt ??= performance.now()
    this.#request?.recordText(text, kind)
  }

  get firstPieceAt(): number | undefined {
    return this.#firstPieceAt
  }

  /** Implausible counts that providers reported; they are capped. */
  get implausibleCounts(): ReportedTokens[] {
    const last = this.#request?.implausibleCounts
    return last ? [...this.#earlierImplausibleCounts, last] : this.#earlierImplausibleCounts
  }

  get tokens(): TokenCounts {
    return addTokenCounts(this.#previous.tokens, this.#request?.tokens ?? noTokens)
  }

  get cost(): Cost {
    return this.#computeCost(this.#request?.tokens)
  }

  /** Tokens and cost so far. */
  get usage() {
    const { input, output, cached, cacheWrite, reasoning, webSearches, webFetches, estimated } = this.tokens
    return {
      inputTokens: input,
      outputTokens: output,
      cachedTokens: cached,
      cacheWriteTokens: cacheWrite,
      reasoningTokens: reasoning,
      webSearches,
      webFetches,
      estimated,
      ...this.cost,
    }
  }

  /**
   * Returns true if the call is within its reservation. Extends the reservation if the provider counts more input than
   * estimated, or fewer answer tokens than we do, and the limits have room. An answer longer than requested never fits.
   */
  async fitsReservation(): Promise<boolean> {
    const { reservation, extend } = this.#options
    if (!exceeds(this.#limitCost(this.#boundedAmounts), reservation.reserved)) return true
    const output = this.#maxOutput
    return (
      output !== undefined &&
      (await extend(reservation, this.#limitCost(this.#computeMaxAmounts(output)))) === 'extended'
    )
  }

  async #extendReservation(input: number): Promise<void> {
    const { reservation, pricing, bounds, extend } = this.#options
    if (reservation.reserved.tokens === null) return
    const most = bounds.computeInput(input) + bounds.uses.pageTokens
    const next = computeMaxCost(pricing, { input: most, output: 0, reasoning: 0, ...bounds.uses }, bounds.output)
    const { tokens, costMicros } = this.#spent
    const needed = {
      tokens: (tokens ?? 0) + most + bounds.output,
      costMicros: costMicros === null || next.costMicros === null ? null : costMicros + next.costMicros,
    }
    if (!exceeds(needed, reservation.reserved)) return
    const extended = await extend(reservation, needed)
    if (extended instanceof QuotaExceeded) throw new LimitCut(extended)
    if (extended === 'gone') throw new LimitCut()
  }

  readonly #progress = (): CallProgress => {
    const { output: maxOutput } = this.#options.bounds
    // A request without any usage may be sent again, and embeddings, which have no output, need several requests.
    const isKnown = this.#request !== undefined && maxOutput > 0
    const { tokens, costMicros } = isKnown ? this.#computeMaxAmounts(maxOutput) : { tokens: Infinity, costMicros: null }
    return { ...this.usage, max: { tokens: toFiniteOrNull(tokens), costMicros } }
  }

  /** Maximum answer tokens by our count; undefined if the answer is longer than requested. */
  get #maxOutput(): number | undefined {
    const { output: maxOutput } = this.#options.bounds
    const tokens = this.#request?.tokens.output ?? 0
    if (tokens <= maxOutput) return maxOutput
    const most = maxOutput * MAX_OVERCOUNT
    return (this.#request?.reportedOutput ?? 0) > maxOutput || tokens > most ? undefined : Math.min(2 * tokens, most)
  }

  get #spent(): ReservedAmounts {
    const { input, output } = this.tokens
    return this.#limitCost({ tokens: input + output, costMicros: this.cost.costMicros })
  }

  #limitCost({ tokens, costMicros }: ReservedAmounts): ReservedAmounts {
    return { tokens, costMicros: this.#options.reservation.reserved.costMicros === null ? null : costMicros }
  }

  /** Usage without web search results, which have no bound and are not part of the reservation. */
  get #boundedAmounts(): { tokens: number; costMicros: number | null } {
    const { webSearches, pageTokens } = this.#options.bounds.uses
    const most = webSearches > 0 ? (this.#request?.maxInput ?? 0) + pageTokens : Infinity
    const request = this.#request?.tokens
    const bounded = request && { ...request, input: Math.min(request.input, most) }
    const { input, output } = addTokenCounts(this.#previous.tokens, bounded ?? noTokens)
    return { tokens: input + output, costMicros: this.#computeCost(bounded).costMicros }
  }

  /** Computes the most that the call takes if the running request is answered with so many tokens. */
  #computeMaxAmounts(output: number): { tokens: number; costMicros: number | null } {
    const { pricing, bounds } = this.#options
    const { cost: previousCost } = this.#previous
    const known = this.#request?.knownTokens ?? { ...noTokens, cached: undefined }
    const rest = Math.max(0, output - known.output)
    const unreadPageTokens = bounds.uses.pageTokens
    // Pages that are fetched later may be written to the cache.
    const input = { input: known.input + unreadPageTokens, cached: unreadPageTokens > 0 ? undefined : known.cached }
    const cost = computeMaxCost(pricing, { ...known, ...input, ...takeLargerUses(known, bounds.uses) }, rest)
    const { costMicros } = previousCost ? addCosts(previousCost, cost) : cost
    return { tokens: this.#previous.tokens.input + input.input + this.tokens.output + rest, costMicros }
  }

  #computeCost(request: TokenCounts | undefined): Cost {
    const { cost: previousCost } = this.#previous
    if (previousCost && !request) return previousCost
    const cost = computeCost(this.#options.pricing, addTokenCounts(noTokens, request ?? noTokens))
    return previousCost ? addCosts(previousCost, cost) : cost
  }
}

const takeLargerUses = ({ webSearches = 0, webFetches = 0 }: Partial<NativeUses>, other: NativeUses): NativeUses => ({
  webSearches: Math.max(webSearches, other.webSearches),
  webFetches: Math.max(webFetches, other.webFetches),
})

const exceeds = (amounts: ReservedAmounts, reserved: ReservedAmounts) =>
  (amounts.tokens ?? 0) > (reserved.tokens ?? Infinity) || (amounts.costMicros ?? 0) > (reserved.costMicros ?? Infinity)
