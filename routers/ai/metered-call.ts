import { z } from 'zod'
import type { Outcome } from '../../entities/ai/usage-record.ts'
import type { Context } from '../core/context.ts'
import { Problem } from '../core/problems.ts'
import { withTimeLimit } from '../core/timeout.ts'
import type { ModelCall } from '../ports/models.ts'
import type { Hold } from '../ports/usage-ledger.ts'
import { CallMeter } from './call-meter.ts'

type MeteredContext = Pick<Context, 'services' | 'requestId' | 'hangUp'>

/** The answer of a model as a whole. */
export const answer = z.object({ text: z.string().describe('What the model says.') })
type Answer = z.output<typeof answer>

export type StreamPart =
  | { type: 'delta'; text: string }
  | {
      type: 'usage'
      inputTokens: number
      outputTokens: number
      cachedTokens: number
      reasoningTokens: number
      /** The answer was ended because a usage limit had no more room. */
      cut?: 'limit'
    }

/** For a whole call, where the settings of the provider say nothing else. */
const TOTAL_MS = 300_000

/** How long after the end of its time a call waits for a reader who has not taken what was sent. */
const HANG_UP_AFTER_MS = 1000

/** One call of a model, which leaves exactly one usage record, however it ends. */
export class MeteredCall {
  readonly #ctx: MeteredContext
  readonly #hold: Hold
  readonly #call: ModelCall
  readonly #started = performance.now()
  readonly #meter: CallMeter
  /** Whether a part was handed out and the next one not asked for. */
  #isHeld = false
  #isBegun = false
  #isCut = false
  #isRecorded = false

  constructor(ctx: MeteredContext, hold: Hold, call: ModelCall) {
    this.#ctx = ctx
    this.#hold = hold
    this.#call = call
    this.#meter = new CallMeter(call.model.pricing)
    hold.taken = () => this.#meter.tokens
    call.signal.addEventListener('abort', this.#endUnbegun, { once: true })
    // Whoever went away while the call was held is gone already.
    if (call.signal.aborted) this.#endUnbegun()
  }

  async answer(): Promise<Answer> {
    this.#isBegun = true
    using time = this.#timeLimit()
    const call = { ...this.#call, signal: time.signal }
    try {
      const text = await this.#ctx.services.models.generate(call, this.#meter)
      this.#record('completed')
      return { text }
    } catch (error) {
      throw this.#fail(error)
    }
  }

  async *parts(): AsyncGenerator<StreamPart, void> {
    this.#isBegun = true
    let outcome: Outcome = 'aborted'
    using time = this.#timeLimit()
    time.signal.addEventListener('abort', this.#endUnread, { once: true })
    try {
      const steps = this.#steps({ ...this.#call, signal: time.signal })
      for await (const pieces of steps) {
        for (const text of pieces) {
          this.#isHeld = true
          yield { type: 'delta', text }
          this.#isHeld = false
        }
      }
      outcome = this.#isCut ? 'cut' : 'completed'
      this.#record(outcome)
      this.#isHeld = true
      yield this.#usage()
    } catch (error) {
      outcome = 'failed'
      throw this.#problem(error)
    } finally {
      this.#isHeld = false
      // A reader that goes away ends the generator here, too.
      this.#record(this.#call.signal.aborted && outcome === 'failed' ? 'aborted' : outcome)
    }
  }

  #steps(call: ModelCall): AsyncIterable<readonly string[]> {
    const steps = this.#ctx.services.models.stream(call, this.#meter)
    return this.#hold.tokens === null ? steps : this.#withinHold(steps, this.#hold.tokens)
  }

  /** Ends where the hold does: a provider may answer with more than it was told to. */
  async *#withinHold(steps: AsyncIterable<readonly string[]>, most: number): AsyncGenerator<readonly string[], void> {
    for await (const pieces of steps) {
      const { input, output } = this.#meter.tokens
      this.#isCut = input + output > most
      if (this.#isCut) return
      yield pieces
    }
  }

  #timeLimit() {
    return withTimeLimit(this.#call.model.providerSettings.timeouts?.total ?? TOTAL_MS, this.#call.signal)
  }

  /** A generator whose reader goes away before the first part, or cannot take parts, runs no line of its own. */
  readonly #endUnbegun = (): void => {
    if (!this.#isBegun) this.#record('aborted')
  }

  /** Nobody resumes a generator whose reader takes nothing, so the end of its time must end it from outside. */
  readonly #endUnread = (): void => {
    if (this.#call.signal.aborted || !this.#isHeld) return
    this.#record('failed')
    const hangUp = () => this.#isHeld && this.#ctx.hangUp()
    setTimeout(hangUp, HANG_UP_AFTER_MS).unref()
  }

  #fail(error: unknown): Problem {
    this.#record(this.#call.signal.aborted ? 'aborted' : 'failed')
    return this.#problem(error)
  }

  /** What the provider said goes to the log by its kind only: it may quote the question. */
  #problem(error: unknown): Problem {
    if (this.#call.signal.aborted) return new Problem('client_gone', { cause: error })
    const { name, message, statusCode, code } = describe(error)
    const { providerId, modelId } = this.#call.model
    const details = {
      requestId: this.#ctx.requestId,
      provider: providerId,
      model: modelId,
      error: name,
      statusCode,
      code,
    }
    this.#ctx.services.log.warn(details, `the AI provider failed: ${message}`)
    return new Problem('provider_failed', { cause: error })
  }

  #usage(): StreamPart {
    const { input, output, cached, reasoning } = this.#meter.tokens
    const counts = { inputTokens: input, outputTokens: output, cachedTokens: cached, reasoningTokens: reasoning }
    return { type: 'usage', ...counts, ...(this.#isCut && { cut: 'limit' }) }
  }

  #record(outcome: Outcome): void {
    if (this.#isRecorded) return
    this.#isRecorded = true
    const { tokens, cost } = this.#meter
    this.#ctx.services.usageLedger.settle(this.#hold, {
      inputTokens: tokens.input,
      outputTokens: tokens.output,
      cachedTokens: tokens.cached,
      cacheWriteTokens: tokens.cacheWrite,
      reasoningTokens: tokens.reasoning,
      estimated: tokens.estimated,
      outcome,
      durationMs: Math.round(performance.now() - this.#started),
      ...cost,
    })
  }
}

/** A provider's own words are left out; only our own and the network's errors have a message worth keeping. */
function describe(error: unknown) {
  const { name, statusCode, code } = error as { name: string; statusCode?: number; code?: unknown }
  const word = typeof code === 'string' && /^[A-Z_0-9]+$/.test(code) ? code : undefined
  const message = statusCode ? `it answered with the status ${statusCode}` : (word ?? name)
  return { name, message, statusCode, code: word }
}
