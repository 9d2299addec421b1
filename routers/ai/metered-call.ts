import type { Outcome } from '../../entities/ai/usage-record.ts'
import type { Context } from '../core/context.ts'
import { Problem } from '../core/problems.ts'
import { withTimeLimit } from '../core/timeout.ts'
import type { AnswerPart, ModelCall } from '../ports/ai/models.ts'
import type { Hold } from '../ports/ai/usage-ledger.ts'
import type { StreamPart, Usage, WholeAnswer } from './answer.ts'
import type { Approvals } from './approvals.ts'
import { HeldMeter, LimitCut } from './held-meter.ts'
import { maxOutputOf, refusal } from './hold.ts'
import { providerFailure } from './provider-failure.ts'

type PartOf<Type extends StreamPart['type']> = Extract<StreamPart, { type: Type }>

type MeteredContext = Pick<Context, 'services' | 'requestId' | 'hangUp' | 'hints'>

/** For a whole call, where the settings of the provider say nothing else. */
const TOTAL_MS = 300_000

/** How long after the end of its time a call waits for a reader who has not taken what was sent. */
const HANG_UP_AFTER_MS = 1000

interface MeteredCallOptions {
  hold: Hold
  call: ModelCall
  approvals: Approvals
  /** Let go of when the call is over. */
  held: Disposable
  /** Makes the call of the model that answers where this one's provider cannot, if there is one. */
  standIn?: () => Promise<MeteredCall | undefined>
}

/** One call of a model, which leaves exactly one usage record, however it ends. */
export class MeteredCall {
  readonly #ctx: MeteredContext
  readonly #hold: Hold
  readonly #call: ModelCall
  readonly #approvals: Approvals
  readonly #held: Disposable
  readonly #makeStandIn: MeteredCallOptions['standIn']
  readonly #started = performance.now()
  readonly #meter: HeldMeter
  /** Whether a part was handed out and the next one not asked for. */
  #isHeld = false
  #isCut = false
  #isRecorded = false

  constructor(ctx: MeteredContext, { hold, call, approvals, held, standIn }: MeteredCallOptions) {
    this.#ctx = ctx
    this.#hold = hold
    this.#call = call
    this.#approvals = approvals
    this.#held = held
    this.#makeStandIn = standIn
    const { services } = ctx
    this.#meter = new HeldMeter({
      hold,
      pricing: call.model.pricing,
      maxOutput: maxOutputOf(call, services.settings.maxOutputTokens),
      extend: services.usageLedger.extend,
    })
  }

  /** What the model is given, with what is in the attachments. */
  get messages(): ModelCall['messages'] {
    return this.#call.messages
  }

  get provider(): string {
    return this.#call.model.providerId
  }

  /** Ends it before anything was asked. */
  abandon(): void {
    this.#record('aborted')
  }

  async answer(): Promise<WholeAnswer> {
    this.#assertCaller()
    using time = this.#timeLimit()
    const call = { ...this.#call, signal: time.signal }
    try {
      const { content, finish } = await this.#ctx.services.models.generate(call, this.#meter)
      this.#record('completed')
      return { content: [...content], finish, usage: this.#usage }
    } catch (error) {
      const standIn = await this.#standIn(error)
      if (standIn) return standIn.answer()
      throw this.#fail(error)
    }
  }

  /** Parts of these types. Waits for the first, so that a failure before it is an error and not a stream. */
  async stream<Type extends StreamPart['type']>(types: readonly Type[]): Promise<AsyncGenerator<PartOf<Type>, void>> {
    this.#assertCaller()
    const parts = this.#parts(new Set<string>(types)) as AsyncGenerator<PartOf<Type>, void>
    const first = await parts.next()
    // Nobody ends a generator whose reader goes away before it reads.
    this.#call.signal.addEventListener('abort', () => void parts.return(), { once: true })
    return resume(first, parts)
  }

  async *#parts(wanted: ReadonlySet<string>): AsyncGenerator<StreamPart, void> {
    let outcome: Outcome = 'aborted'
    using time = this.#timeLimit()
    time.signal.addEventListener('abort', this.#endUnread, { once: true })
    try {
      const answer = this.#steps({ ...this.#call, signal: time.signal })
      const steps = this.#approvals.isNeeded ? this.#approvals.amid(answer) : answer
      for await (const pieces of steps) {
        for (const piece of pieces.filter(({ type }) => wanted.has(type))) {
          this.#isHeld = true
          yield piece
          this.#isHeld = false
        }
      }
      outcome = this.#isCut ? 'cut' : 'completed'
      this.#record(outcome)
      this.#isHeld = true
      yield { type: 'usage', ...this.#usage, ...(this.#isCut && { cut: 'limit' }) }
    } catch (error) {
      outcome = 'failed'
      yield* this.#insteadOf(error, wanted)
    } finally {
      this.#isHeld = false
      // A reader that goes away ends the generator here, too.
      this.#record(this.#call.signal.aborted && outcome === 'failed' ? 'aborted' : outcome)
    }
  }

  /** The parts of the call that takes the place of this one; throws where there is none. */
  async *#insteadOf(error: unknown, wanted: ReadonlySet<string>): AsyncGenerator<StreamPart, void> {
    const standIn = await this.#standIn(error)
    if (!standIn) throw this.#problem(error)
    yield* await standIn.stream([...wanted] as StreamPart['type'][])
  }

  /** The call that takes the place of this one, which took nothing then, and is as if it had not been made. */
  async #standIn(error: unknown): Promise<MeteredCall | undefined> {
    const { models, usageLedger } = this.#ctx.services
    const { input, output } = this.#meter.tokens
    if (this.#call.signal.aborted || input + output > 0 || !models.isProvidersFault(error)) return undefined
    const standIn = await this.#makeStandIn?.()
    if (!standIn) return undefined
    this.#isRecorded = true
    providerFailure(this.#ctx, this.#call.model, error)
    await usageLedger.release(this.#hold)
    return standIn
  }

  #steps(call: ModelCall): AsyncIterable<readonly AnswerPart[]> {
    const steps = this.#ctx.services.models.stream(call, this.#meter)
    return this.#hold.held.tokens === null ? steps : this.#withinHold(steps)
  }

  /** Ends where the hold does, or where no more is given for a further round. */
  async *#withinHold(steps: AsyncIterable<readonly AnswerPart[]>): AsyncGenerator<readonly AnswerPart[], void> {
    try {
      for await (const pieces of steps) {
        // An answer that is over by itself is not cut.
        this.#isCut = this.#meter.isBeyond && pieces.at(-1)?.type !== 'finish'
        if (this.#isCut) break
        yield pieces
      }
    } catch (error) {
      if (!(error instanceof LimitCut)) throw error
      this.#isCut = true
    }
    if (this.#isCut) yield [{ type: 'finish', reason: 'length' }]
  }

  #timeLimit() {
    return withTimeLimit(this.#call.model.providerSettings.timeouts?.total ?? TOTAL_MS, this.#call.signal)
  }

  /** Asks no provider for a caller who went away while the call was held. */
  #assertCaller(): void {
    if (!this.#call.signal.aborted) return
    this.#record('aborted')
    throw new Problem('client_gone')
  }

  /** Nobody resumes a generator whose reader takes nothing, so the end of its time must end it from outside. */
  readonly #endUnread = (): void => {
    if (this.#call.signal.aborted || !this.#isHeld) return
    this.#record('failed')
    const hangUp = () => this.#isHeld && this.#ctx.hangUp()
    setTimeout(hangUp, HANG_UP_AFTER_MS).unref()
  }

  #fail(error: unknown): Problem {
    if (error instanceof LimitCut) {
      this.#record('cut')
      const refused = refusal(this.#ctx, error.refusal)
      // Who repeats the call pays again for the rounds that were made.
      this.#ctx.hints.isFinal = true
      return refused
    }
    this.#record(this.#call.signal.aborted ? 'aborted' : 'failed')
    return this.#problem(error)
  }

  #problem(error: unknown): Problem {
    const { aborted, reason } = this.#call.signal
    if (aborted) return reason instanceof Problem ? reason : new Problem('client_gone', { cause: error })
    this.#ctx.hints.isFinal = true
    return providerFailure(this.#ctx, this.#call.model, error)
  }

  get #usage(): Usage {
    const { input, output, cached, reasoning } = this.#meter.tokens
    return { inputTokens: input, outputTokens: output, cachedTokens: cached, reasoningTokens: reasoning }
  }

  #record(outcome: Outcome): void {
    if (this.#isRecorded) return
    this.#isRecorded = true
    this.#held[Symbol.dispose]()
    const durationMs = Math.round(performance.now() - this.#started)
    this.#ctx.services.usageLedger.settle(this.#hold, { ...this.#meter.bill, outcome, durationMs })
  }
}

async function* resume<Part>(
  first: IteratorResult<Part, void>,
  rest: AsyncGenerator<Part, void>,
): AsyncGenerator<Part, void> {
  try {
    for (let step = first; !step.done; step = await rest.next()) yield step.value
  } finally {
    await rest.return()
  }
}
