import { computeMaxCost } from '../catalogue/pricing.ts'
import {
  type CallProgress,
  QuotaExceeded,
  type Reservation,
  type ReservedAmounts,
  type UsageLedger,
} from '../ports/ai/usage-ledger.ts'
import { CallMeter, type CallMeterOptions } from './call-meter.ts'
import { unlessInfinite } from './native-uses.ts'

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

interface BudgetedMeterOptions extends CallMeterOptions {
  reservation: Reservation
  extend: UsageLedger['extend']
}

/** Counts a call and keeps it within its reservation, which it extends before a request that does not fit into it. */
export class BudgetedMeter extends CallMeter {
  readonly #options: BudgetedMeterOptions

  constructor(options: BudgetedMeterOptions) {
    super(options)
    this.#options = options
  }

  /** Throws where the request does not fit into what limits leave; nothing was sent then. */
  override async begin(inputTokens: number): Promise<void> {
    await this.#extendFor(inputTokens)
    await super.begin(inputTokens)
    // Until then it stands at what was reserved.
    this.#options.reservation.progress = this.#progress
  }

  /**
   * Whether the call took no more than is reserved. Where its provider counts a longer input than was estimated, or fewer tokens in
   * its answer than we do, more is reserved, if limits have room for it. An answer that is longer than was asked for does not fit.
   */
  async fits(): Promise<boolean> {
    const { reservation, extend } = this.#options
    if (!exceeds(this.#limited(this.bounded), reservation.reserved)) return true
    const output = this.#longest
    return output !== undefined && (await extend(reservation, this.#limited(this.mostWith(output)))) === 'extended'
  }

  /** Tokens that the answer may have by our count; undefined where it is longer than was asked for. */
  get #longest(): number | undefined {
    const { maxOutput } = this.#options
    const { tokens, told } = this.answered
    if (tokens <= maxOutput) return maxOutput
    const most = maxOutput * MOST_OVERCOUNT
    return told > maxOutput || tokens > most ? undefined : Math.min(2 * tokens, most)
  }

  get #taken(): ReservedAmounts {
    const { input, output } = this.tokens
    return this.#limited({ tokens: input + output, costMicros: this.cost.costMicros })
  }

  #limited({ tokens, costMicros }: ReservedAmounts): ReservedAmounts {
    return { tokens, costMicros: this.#options.reservation.reserved.costMicros === null ? null : costMicros }
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

  readonly #progress = (): CallProgress => {
    const { maxOutput } = this.#options
    // A request that took nothing may be made again, and embeddings, which are no output, by several.
    const isKnown = this.isAsking && maxOutput > 0
    const { tokens, costMicros } = isKnown ? this.mostWith(maxOutput) : { tokens: Infinity, costMicros: null }
    return { ...this.bill, most: { tokens: unlessInfinite(tokens), costMicros } }
  }
}

const exceeds = (taken: ReservedAmounts, reserved: ReservedAmounts) =>
  (taken.tokens ?? 0) > (reserved.tokens ?? Infinity) || (taken.costMicros ?? 0) > (reserved.costMicros ?? Infinity)
