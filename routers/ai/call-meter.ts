import type { Pricing } from '../../entities/catalogue/ai-model.ts'
import type { DeepReadonly } from '../../entities/sql/read-only.ts'
import { type Cost, computeCost, computeMaxCost, type NativeUses, noUses, sumOfCosts } from '../catalogue/pricing.ts'
import {
  adaptersWithoutToolLimits,
  MAX_PAGE_TOKENS,
  MAX_UNBOUNDED_PAGES,
  type NativeTool,
} from '../ports/ai/adapters.ts'
import type { ModelCall } from '../ports/ai/models.ts'
import {
  type CallProgress,
  QuotaExceeded,
  type Reservation,
  type ReservedAmounts,
  type UsageLedger,
} from '../ports/ai/usage-ledger.ts'
import type { ReportedTokens, UsageMeter } from '../ports/ai/usage-meter.ts'
import { nothing, RequestMeter, sum, type TokenCounts } from './request-meter.ts'

/** The most that a provider does for one request by tools of its own; infinite where nobody knows. */
export interface MaxUses extends NativeUses {
  /** Of the pages that it reads, each of which is billed as input. What a search finds has no such bound. */
  pageTokens: number
}

export const noNativeUses: MaxUses = { ...noUses, pageTokens: 0 }

export function boundNativeUses({ model, nativeTools, nativeToolUses, inputTokens }: ModelCall): MaxUses {
  if (nativeTools.length === 0) return noNativeUses
  const isBounded = !adaptersWithoutToolLimits.has(model.adapter)
  // All that a model is given, pages too, must be within what it takes.
  const room = Math.max(0, (model.limits?.maxInputTokens ?? Infinity) - Math.ceil(inputTokens))
  const most = isBounded
    ? { searches: nativeToolUses, pages: nativeToolUses, pageTokens: nativeToolUses * MAX_PAGE_TOKENS }
    : { searches: Infinity, pages: MAX_UNBOUNDED_PAGES, pageTokens: room }
  const isReading = nativeTools.includes('web_fetch')
  return {
    webSearches: nativeTools.includes('web_search') ? most.searches : 0,
    webFetches: isReading ? most.pages : 0,
    pageTokens: isReading ? most.pageTokens : 0,
  }
}

/** A number as the database takes it: null where it is not known. */
export const unlessInfinite = (most: number): number | null => (most === Infinity ? null : most)

/** How many times as many tokens as the provider we count at most, in scripts of which its tokenizer knows whole words. */
const MOST_OVERCOUNT = 4

/** Ends a call of which a limit has no room for a further round. */
export class LimitCut extends Error {
  override name = 'LimitCut'
  readonly quota: QuotaExceeded | undefined

  /** Without a quota where another process took the call for lost. */
  constructor(quota?: QuotaExceeded) {
    super('a limit has no room for a further round')
    this.quota = quota
  }
}

interface CallMeterOptions {
  pricing: DeepReadonly<Pricing> | null
  /** The most that a request may do by tools of its provider. */
  mostUses: MaxUses
  /** As much as a provider may count of a request, by our estimate of its input. */
  mostInput: (estimate: number) => number
  /** The longest answer of a round in tokens. */
  maxOutput: number
  /** Messages of the request, or texts where none is a message. */
  messages: number
  reservation: Reservation
  extend: UsageLedger['extend']
}

/**
 * Counts all requests of one call: its rounds, and those that were tried again. Each is paid by its own length, and one that
 * does not fit into what is reserved extends the reservation before it is made.
 */
export class CallMeter implements UsageMeter {
  readonly #options: CallMeterOptions
  #before: { tokens: TokenCounts; cost?: Cost } = { tokens: nothing }
  #request: RequestMeter | undefined
  /** When the first piece came, as `performance.now()` tells it. */
  #firstPieceAt: number | undefined
  /** What providers counted of requests before that cannot be. */
  #implausible: ReportedTokens[] = []

  constructor(options: CallMeterOptions) {
    this.#options = options
  }

  /** Throws where the request does not fit into what limits leave; nothing was sent then. */
  async startRequest(inputTokens: number): Promise<void> {
    await this.#extendFor(inputTokens)
    if (this.#request) this.#before = { tokens: this.tokens, cost: this.cost }
    this.#implausible = this.implausible
    const { mostInput, mostUses, maxOutput, messages, reservation } = this.#options
    const input = mostInput(inputTokens)
    this.#request = new RequestMeter(inputTokens, input, {
      // What a search finds has no bound, and after each search or page all of the input may be counted again.
      input: mostUses.webSearches + mostUses.webFetches > 0 ? Infinity : input,
      output: maxOutput,
      messages,
    })
    // Until then it stands at what was reserved.
    reservation.progress = this.#progress
  }

  failRequest(): void {
    if (this.#request?.isEmpty) this.#request = undefined
  }

  reportTokens(tokens: ReportedTokens | undefined): void {
    this.#request?.report(tokens)
  }

  recordToolUse(tool: NativeTool, times: number): void {
    this.#request?.use(tool, times)
  }

  addToolTokens(tokens: number): void {
    this.#request?.find(tokens)
  }

  recordText(text: string, kind: 'answer' | 'reasoning'): void {
    this.#firstPieceAt ??= performance.now()
    this.#request?.receive(text, kind)
  }

  get firstPieceAt(): number | undefined {
    return this.#firstPieceAt
  }

  /** The counts of providers that cannot be, and are cut. */
  get implausible(): ReportedTokens[] {
    const last = this.#request?.implausible
    return last ? [...this.#implausible, last] : this.#implausible
  }

  get tokens(): TokenCounts {
    return sum(this.#before.tokens, this.#request?.tokens ?? nothing)
  }

  get cost(): Cost {
    return this.#costWith(this.#request?.tokens)
  }

  /** What it took so far. */
  get bill() {
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
   * Whether the call took no more than is reserved. Where its provider counts a longer input than was estimated, or fewer tokens in
   * its answer than we do, more is reserved, if limits have room for it. An answer that is longer than was asked for does not fit.
   */
  async fits(): Promise<boolean> {
    const { reservation, extend } = this.#options
    if (!exceeds(this.#limited(this.#bounded), reservation.reserved)) return true
    const output = this.#longest
    return output !== undefined && (await extend(reservation, this.#limited(this.#mostWith(output)))) === 'extended'
  }

  async #extendFor(input: number): Promise<void> {
    const { reservation, pricing, maxOutput, mostUses, mostInput, extend } = this.#options
    if (reservation.reserved.tokens === null) return
    const most = mostInput(input) + mostUses.pageTokens
    const next = computeMaxCost(pricing, { input: most, output: 0, reasoning: 0, ...mostUses }, maxOutput)
    const { tokens, costMicros } = this.#taken
    const wanted = {
      tokens: (tokens ?? 0) + most + maxOutput,
      costMicros: costMicros === null || next.costMicros === null ? null : costMicros + next.costMicros,
    }
    if (!exceeds(wanted, reservation.reserved)) return
    const extended = await extend(reservation, wanted)
    if (extended instanceof QuotaExceeded) throw new LimitCut(extended)
    if (extended === 'gone') throw new LimitCut()
  }

  readonly #progress = (): CallProgress => {
    const { maxOutput } = this.#options
    // A request that took nothing may be made again, and embeddings, which are no output, by several.
    const isKnown = this.#request !== undefined && maxOutput > 0
    const { tokens, costMicros } = isKnown ? this.#mostWith(maxOutput) : { tokens: Infinity, costMicros: null }
    return { ...this.bill, max: { tokens: unlessInfinite(tokens), costMicros } }
  }

  /** Tokens that the answer may have by our count; undefined where it is longer than was asked for. */
  get #longest(): number | undefined {
    const { maxOutput } = this.#options
    const tokens = this.#request?.tokens.output ?? 0
    if (tokens <= maxOutput) return maxOutput
    const most = maxOutput * MOST_OVERCOUNT
    return (this.#request?.reportedOutput ?? 0) > maxOutput || tokens > most ? undefined : Math.min(2 * tokens, most)
  }

  get #taken(): ReservedAmounts {
    const { input, output } = this.tokens
    return this.#limited({ tokens: input + output, costMicros: this.cost.costMicros })
  }

  #limited({ tokens, costMicros }: ReservedAmounts): ReservedAmounts {
    return { tokens, costMicros: this.#options.reservation.reserved.costMicros === null ? null : costMicros }
  }

  /** As much of it as was to be reserved: of a request that may search, not what it found, which has no bound. */
  get #bounded(): { tokens: number; costMicros: number | null } {
    const { webSearches, pageTokens } = this.#options.mostUses
    const most = webSearches > 0 ? (this.#request?.mostInput ?? 0) + pageTokens : Infinity
    const request = this.#request?.tokens
    const within = request && { ...request, input: Math.min(request.input, most) }
    const { input, output } = sum(this.#before.tokens, within ?? nothing)
    return { tokens: input + output, costMicros: this.#costWith(within).costMicros }
  }

  /** What the call takes where the request that runs is answered in so many tokens. */
  #mostWith(output: number): { tokens: number; costMicros: number | null } {
    const { pricing, mostUses } = this.#options
    const { cost: before } = this.#before
    const known = this.#request?.known ?? { ...nothing, cached: undefined }
    const rest = Math.max(0, output - known.output)
    const unread = mostUses.pageTokens
    // Pages that are read later may be written to a cache, too.
    const input = { input: known.input + unread, cached: unread > 0 ? undefined : known.cached }
    const cost = computeMaxCost(pricing, { ...known, ...input, ...larger(known, mostUses) }, rest)
    const { costMicros } = before ? sumOfCosts(before, cost) : cost
    return { tokens: this.#before.tokens.input + input.input + this.tokens.output + rest, costMicros }
  }

  #costWith(request: TokenCounts | undefined): Cost {
    const { cost: before } = this.#before
    if (before && !request) return before
    const cost = computeCost(this.#options.pricing, sum(nothing, request ?? nothing))
    return before ? sumOfCosts(before, cost) : cost
  }
}

const larger = ({ webSearches = 0, webFetches = 0 }: Partial<NativeUses>, other: NativeUses): NativeUses => ({
  webSearches: Math.max(webSearches, other.webSearches),
  webFetches: Math.max(webFetches, other.webFetches),
})

const exceeds = (taken: ReservedAmounts, reserved: ReservedAmounts) =>
  (taken.tokens ?? 0) > (reserved.tokens ?? Infinity) || (taken.costMicros ?? 0) > (reserved.costMicros ?? Infinity)
