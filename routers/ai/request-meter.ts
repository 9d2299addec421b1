import { type KnownTokens, type NativeUses, noUses } from '../catalogue/pricing.ts'
import type { NativeTool } from '../ports/ai/adapters.ts'
import { estimateTokens } from '../ports/ai/token-estimate.ts'
import type { ReportedTokens } from '../ports/ai/usage-meter.ts'

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

export const nothing: TokenCounts = {
  ...{ input: 0, output: 0, cached: 0, cacheWrite: 0, reasoning: 0, ...noUses },
  estimated: false,
}

/** What a provider may count of a request at most, in tokens of ours; infinite where nobody knows. */
interface MostCounted {
  input: number
  output: number
  /** Of the request. */
  messages: number
}

/** A token is a byte at least, and our estimate takes no more than so many bytes for one. */
const BYTES_PER_TOKEN = 4

/** What providers add to a request by words of their own, such as how tools are called, and to each of its messages. */
const OWN_TOKENS = 4000
const TOKENS_PER_MESSAGE = 20

/** More than anybody searches or reads for one request. */
const MAX_USES = 1000

/** The longest context of any model. */
const MAX_CONTEXT = 10_000_000

const bound = (tokens: number) => Math.min(Math.ceil(BYTES_PER_TOKEN * tokens) + OWN_TOKENS, MAX_CONTEXT)

const countsIn = (reported: ReportedTokens) => Object.entries(reported) as [keyof ReportedTokens, number][]

/**
 * The provider's total goes before its running total, and that before our count of what came since. None of its counts goes
 * beyond the bytes that it was sent and has sent, and the answer that it was asked for.
 */
export class RequestMeter {
  /** As much as the provider may count. */
  readonly mostInput: number
  readonly #most: MostCounted
  /** Bytes of all that came. */
  #received = 0
  readonly #inputEstimate: number
  /** What tools of the provider found that its count of the input has not in it. */
  #found = 0
  #reported: ReportedTokens = {}
  #answer = { pieces: 0, tokens: 0 }
  #reasoning = { pieces: 0, tokens: 0 }
  readonly #uses: Record<NativeTool, number> = { web_search: 0, web_fetch: 0 }
  /** Whether what comes now is part of what the provider said. */
  #isCounted = false
  /** Whether anything of an answer came. */
  #isBegun = false

  constructor(inputEstimate: number, mostInput: number, most: MostCounted) {
    this.#inputEstimate = inputEstimate
    this.mostInput = mostInput
    this.#most = most
  }

  /** What the provider counted that cannot be; nothing where its counts can. */
  get implausible(): ReportedTokens | undefined {
    const most = this.#mostCounts
    return countsIn(this.#reported).some(([name, count]) => count > most[name]) ? this.#reported : undefined
  }

  /** What the provider told, as far as it can be. */
  get #plausible(): ReportedTokens {
    const most = this.#mostCounts
    return Object.fromEntries(countsIn(this.#reported).map(([name, count]) => [name, Math.min(count, most[name])]))
  }

  get #mostCounts(): Record<keyof ReportedTokens, number> {
    const input = bound(this.#most.input + this.#found) + TOKENS_PER_MESSAGE * this.#most.messages
    const output = Math.max(bound(this.#most.output), this.#received + OWN_TOKENS)
    return {
      ...{ input, cached: input, cacheWrite: input, output, reasoning: output, total: input + output },
      ...{ webSearches: MAX_USES, webFetches: MAX_USES },
    }
  }

  get isEmpty(): boolean {
    return Object.keys(this.#reported).length === 0 && this.#answer.pieces + this.#reasoning.pieces === 0
  }

  report(tokens: ReportedTokens = {}): void {
    const known = Object.entries(tokens).flatMap(([name, count]) =>
      // A provider takes no count back that it told.
      count === undefined || (count === 0 && this.#reported[name as keyof ReportedTokens])
        ? []
        : [[name, Math.min(count, MAX_TOKENS)]],
    )
    this.#reported = { ...this.#reported, ...Object.fromEntries(known) }
    if (tokens.input !== undefined) this.#found = 0
    // A count of nothing has no piece in it.
    this.#isCounted = Boolean(tokens.output ?? tokens.total)
    if (!this.#isCounted) return
    this.#answer = { pieces: 0, tokens: 0 }
    this.#reasoning = { pieces: 0, tokens: 0 }
  }

  receive(text: string, kind: 'answer' | 'reasoning'): void {
    if (text === '') return
    this.#isBegun = true
    this.#received += Buffer.byteLength(text)
    if (this.#isCounted) return
    const received = kind === 'answer' ? this.#answer : this.#reasoning
    received.pieces += 1
    received.tokens += estimateTokens(text)
  }

  use(tool: NativeTool, times: number): void {
    this.#uses[tool] += times
  }

  find(tokens: number): void {
    this.#found += tokens
  }

  /** The input of a request without a word from its provider may be longer than we think, and cached or not. */
  get known(): KnownTokens {
    if (this.#counts.input !== undefined) return this.tokens
    return { ...this.tokens, input: this.mostInput + Math.ceil(this.#found), cached: undefined }
  }

  /** Tokens of the answer by the provider's own count, as far as it told. */
  get reportedOutput(): number {
    return this.#plausible.output ?? 0
  }

  get tokens(): TokenCounts {
    const { cached = 0, cacheWrite = 0, reasoning = 0, webSearches, webFetches } = this.#plausible
    const { input, output, isShared } = this.#counts
    const [answered, reasoned] = [estimate(this.#answer), estimate(this.#reasoning)]
    return {
      input: (input ?? this.#inputEstimate) + Math.ceil(this.#found),
      output: (output ?? 0) + answered + reasoned,
      cached,
      cacheWrite,
      reasoning: reasoning + reasoned,
      webSearches: webSearches ?? Math.max(0, this.#uses.web_search),
      webFetches: webFetches ?? Math.max(0, this.#uses.web_fetch),
      estimated:
        isShared ||
        input === undefined ||
        output === undefined ||
        this.#found + answered + reasoned > 0 ||
        this.implausible !== undefined,
    }
  }

  /** Whether the provider counted anything. */
  get #isTold(): boolean {
    return Boolean(this.#reported.input) || Boolean(this.#reported.output)
  }

  /** Where something was said, a count of nothing is none. Of a total alone, our estimate of the input is the input. */
  get #counts(): { input: number | undefined; output: number | undefined; isShared: boolean } {
    const { input, output, total } = this.#plausible
    if (total && !this.#isTold) {
      const share = Math.min(total, this.#inputEstimate)
      return { input: share, output: total - share, isShared: true }
    }
    const believed = (count: number | undefined) => (count === 0 && this.#isBegun ? undefined : count)
    return { input: believed(input), output: believed(output), isShared: false }
  }
}

/** A piece is at least a token. */
const estimate = ({ pieces, tokens }: { pieces: number; tokens: number }) => Math.max(pieces, Math.ceil(tokens))

/** What a column of the usage record holds. */
const MAX_TOKENS = 2_147_483_647

export function sum(one: TokenCounts, other: TokenCounts): TokenCounts {
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
