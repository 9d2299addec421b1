import type { Pricing } from '../../entities/catalogue/ai-model.ts'
import type { DeepReadonly } from '../../entities/sql/read-only.ts'
import { type Cost, computeCost, computeMaxCost, type NativeUses, sumOfCosts } from '../catalogue/pricing.ts'
import type { NativeTool } from '../ports/ai/adapters.ts'
import type { ReportedTokens, UsageMeter } from '../ports/ai/usage-meter.ts'
import type { MostUses } from './native-uses.ts'
import { nothing, RequestMeter, sum, type TokenCounts } from './request-meter.ts'

export interface CallMeterOptions {
  pricing: DeepReadonly<Pricing> | null
  /** The most that a request may do by tools of its provider. */
  mostUses: MostUses
  /** As much as a provider may count of a request, by our estimate of its input. */
  mostInput: (estimate: number) => number
  /** The longest answer of a round in tokens. */
  maxOutput: number
  /** Messages of the request, or texts where none is a message. */
  messages: number
}

/** Counts all requests of one call: its rounds, and those that were tried again. Each is paid by its own length. */
export class CallMeter implements UsageMeter {
  readonly #pricing: CallMeterOptions['pricing']
  readonly #mostUses: MostUses
  readonly #mostInput: CallMeterOptions['mostInput']
  #before: { tokens: TokenCounts; cost?: Cost } = { tokens: nothing }
  readonly #most: Pick<CallMeterOptions, 'maxOutput' | 'messages'>
  #request: RequestMeter | undefined
  /** What providers counted of requests before that cannot be. */
  #implausible: ReportedTokens[] = []

  constructor({ pricing, mostUses, mostInput, maxOutput, messages }: CallMeterOptions) {
    this.#most = { maxOutput, messages }
    this.#pricing = pricing
    this.#mostUses = mostUses
    this.#mostInput = mostInput
  }

  async begin(inputTokens: number): Promise<void> {
    if (this.#request) this.#before = { tokens: this.tokens, cost: this.cost }
    this.#implausible = this.implausible
    const mostInput = this.#mostInput(inputTokens)
    const { webSearches, webFetches } = this.#mostUses
    this.#request = new RequestMeter(inputTokens, mostInput, {
      // What a search finds has no bound, and after each search or page all of the input may be counted again.
      input: webSearches + webFetches > 0 ? Infinity : mostInput,
      output: this.#most.maxOutput,
      messages: this.#most.messages,
    })
  }

  fail(): void {
    if (this.#request?.isEmpty) this.#request = undefined
  }

  report(tokens: ReportedTokens | undefined): void {
    this.#request?.report(tokens)
  }

  use(tool: NativeTool, times: number): void {
    this.#request?.use(tool, times)
  }

  find(tokens: number): void {
    this.#request?.find(tokens)
  }

  receive(text: string, kind: 'answer' | 'reasoning'): void {
    this.#request?.receive(text, kind)
  }

  /** The counts of providers that cannot be, and are cut. */
  get implausible(): ReportedTokens[] {
    const last = this.#request?.implausible
    return last ? [...this.#implausible, last] : this.#implausible
  }

  /** Whether a request is made or was the last one; not before the first, nor after one that took nothing. */
  get isAsking(): boolean {
    return this.#request !== undefined
  }

  /** Tokens of the answer to the request that runs: in all, and as many as the provider counted itself. */
  get answered(): { tokens: number; told: number } {
    return { tokens: this.#request?.tokens.output ?? 0, told: this.#request?.told ?? 0 }
  }

  get tokens(): TokenCounts {
    return sum(this.#before.tokens, this.#request?.tokens ?? nothing)
  }

  get cost(): Cost {
    return this.#costWith(this.#request?.tokens)
  }

  /** As much of it as was to be reserved: of a request that may search, not what it found, which has no bound. */
  get bounded(): { tokens: number; costMicros: number | null } {
    const most = this.#mostUses.webSearches > 0 ? (this.#request?.mostInput ?? 0) + this.#mostRead : Infinity
    const request = this.#request?.tokens
    const within = request && { ...request, input: Math.min(request.input, most) }
    const { input, output } = sum(this.#before.tokens, within ?? nothing)
    return { tokens: input + output, costMicros: this.#costWith(within).costMicros }
  }

  /** What the call takes where the request that runs is answered in so many tokens. */
  mostWith(output: number): { tokens: number; costMicros: number | null } {
    const { cost: before } = this.#before
    const known = this.#request?.known ?? { ...nothing, cached: undefined }
    const rest = Math.max(0, output - known.output)
    const unread = this.#mostRead
    // Pages that are read later may be written to a cache, too.
    const input = { input: known.input + unread, cached: unread > 0 ? undefined : known.cached }
    const cost = computeMaxCost(this.#pricing, { ...known, ...input, ...mostOf(known, this.#mostUses) }, rest)
    const { costMicros } = before ? sumOfCosts(before, cost) : cost
    return { tokens: this.#before.tokens.input + input.input + this.tokens.output + rest, costMicros }
  }

  get #mostRead(): number {
    return this.#mostUses.pageTokens
  }

  #costWith(request: TokenCounts | undefined): Cost {
    const { cost: before } = this.#before
    if (before && !request) return before
    const cost = computeCost(this.#pricing, sum(nothing, request ?? nothing))
    return before ? sumOfCosts(before, cost) : cost
  }
}

const mostOf = ({ webSearches = 0, webFetches = 0 }: Partial<NativeUses>, most: NativeUses): NativeUses => ({
  webSearches: Math.max(webSearches, most.webSearches),
  webFetches: Math.max(webFetches, most.webFetches),
})
