import type { Pricing } from '../../entities/catalogue/ai-model.ts'
import type { DeepReadonly } from '../../entities/sql/read-only.ts'
import {
  type Cost,
  costOf,
  type KnownTokens,
  mostCostOf,
  type NativeUses,
  noUses,
  sumOfCosts,
} from '../catalogue/pricing.ts'
import type { NativeTool } from '../ports/ai/adapters.ts'
import type { ReportedTokens, UsageMeter } from '../ports/ai/models.ts'
import { tokensIn } from '../ports/ai/token-estimate.ts'
import { mostReadBy } from './native-uses.ts'

/** What a call took. Cached and cache-written tokens are part of the input, reasoning is part of the output. */
export interface TokenCounts extends NativeUses {
  input: number
  output: number
  cached: number
  cacheWrite: number
  reasoning: number
  /** Whether some of it is our own count, because the provider did not say. */
  estimated: boolean
}

const nothing: TokenCounts = {
  ...{ input: 0, output: 0, cached: 0, cacheWrite: 0, reasoning: 0, ...noUses },
  estimated: false,
}

/** Counts all requests of one call: its rounds, and those that were tried again. Each is paid by its own length. */
export class CallMeter implements UsageMeter {
  readonly #pricing: DeepReadonly<Pricing> | null
  readonly #mostUses: NativeUses
  #before: { tokens: TokenCounts; cost?: Cost } = { tokens: nothing }
  #request: RequestMeter | undefined

  /** The uses are as many as a request may make of tools of its provider. */
  constructor(pricing: DeepReadonly<Pricing> | null, mostUses: NativeUses) {
    this.#pricing = pricing
    this.#mostUses = mostUses
  }

  async begin(inputTokens: number): Promise<void> {
    if (this.#request) this.#before = { tokens: this.tokens, cost: this.cost }
    this.#request = new RequestMeter(inputTokens)
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

  receive(text: string, kind: 'answer' | 'reasoning'): void {
    this.#request?.receive(text, kind)
  }

  /** Whether a request is made or was the last one; not before the first, nor after one that took nothing. */
  get isAsking(): boolean {
    return this.#request !== undefined
  }

  get tokens(): TokenCounts {
    return sum(this.#before.tokens, this.#request?.tokens ?? nothing)
  }

  get cost(): Cost {
    const { cost: before } = this.#before
    if (before && !this.#request) return before
    const cost = costOf(this.#pricing, sum(nothing, this.#request?.tokens ?? nothing))
    return before ? sumOfCosts(before, cost) : cost
  }

  /** What the call takes where the request that runs is answered in so many tokens. */
  mostWith(output: number): { tokens: number; costMicros: number | null } {
    const { cost: before } = this.#before
    const known = this.#request?.known ?? { ...nothing, cached: undefined }
    const rest = Math.max(0, output - known.output)
    const unread = mostReadBy(this.#mostUses)
    // Pages that are read later may be written to a cache, too.
    const input = { input: known.input + unread, cached: unread > 0 ? undefined : known.cached }
    const cost = mostCostOf(this.#pricing, { ...known, ...input, ...mostOf(known, this.#mostUses) }, rest)
    const { costMicros } = before ? sumOfCosts(before, cost) : cost
    return { tokens: this.tokens.input + this.tokens.output + unread + rest, costMicros }
  }
}

const mostOf = ({ webSearches = 0, webFetches = 0 }: Partial<NativeUses>, most: NativeUses): NativeUses => ({
  webSearches: Math.max(webSearches, most.webSearches),
  webFetches: Math.max(webFetches, most.webFetches),
})

/** The provider's total goes before its running total, and that before our count of what came since. */
class RequestMeter {
  readonly #inputEstimate: number
  #reported: ReportedTokens = {}
  #answer = { pieces: 0, tokens: 0 }
  #reasoning = { pieces: 0, tokens: 0 }
  readonly #uses: Record<NativeTool, number> = { web_search: 0, web_fetch: 0 }
  /** Whether what comes now is part of what the provider said. */
  #isCounted = false

  constructor(inputEstimate: number) {
    this.#inputEstimate = inputEstimate
  }

  get isEmpty(): boolean {
    return Object.keys(this.#reported).length === 0 && this.#answer.pieces + this.#reasoning.pieces === 0
  }

  report(tokens: ReportedTokens = {}): void {
    const known = Object.entries(tokens).flatMap(([name, count]) =>
      count === undefined ? [] : [[name, Math.min(count, MAX_TOKENS)]],
    )
    this.#reported = { ...this.#reported, ...Object.fromEntries(known) }
    this.#isCounted = tokens.output !== undefined
    if (!this.#isCounted) return
    this.#answer = { pieces: 0, tokens: 0 }
    this.#reasoning = { pieces: 0, tokens: 0 }
  }

  receive(text: string, kind: 'answer' | 'reasoning'): void {
    if (this.#isCounted || text === '') return
    const received = kind === 'answer' ? this.#answer : this.#reasoning
    received.pieces += 1
    received.tokens += tokensIn(text)
  }

  use(tool: NativeTool, times: number): void {
    this.#uses[tool] += times
  }

  /** The input of a request without a word from its provider may be cached or not. */
  get known(): KnownTokens {
    return { ...this.tokens, cached: this.#reported.input === undefined ? undefined : this.tokens.cached }
  }

  get tokens(): TokenCounts {
    const { input, output, cached = 0, cacheWrite = 0, reasoning = 0, webSearches, webFetches } = this.#reported
    const [answered, reasoned] = [estimate(this.#answer), estimate(this.#reasoning)]
    return {
      input: input ?? this.#inputEstimate,
      output: (output ?? 0) + answered + reasoned,
      cached,
      cacheWrite,
      reasoning: reasoning + reasoned,
      webSearches: webSearches ?? Math.max(0, this.#uses.web_search),
      webFetches: webFetches ?? Math.max(0, this.#uses.web_fetch),
      estimated: input === undefined || output === undefined || answered + reasoned > 0,
    }
  }
}

/** A piece is at least a token. */
const estimate = ({ pieces, tokens }: { pieces: number; tokens: number }) => Math.max(pieces, Math.ceil(tokens))

/** What a column of the usage record holds. */
const MAX_TOKENS = 2_147_483_647

function sum(one: TokenCounts, other: TokenCounts): TokenCounts {
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
