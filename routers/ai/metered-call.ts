import type { Outcome } from '../../entities/ai/usage-record.ts'
import type { Context } from '../core/context.ts'
import { Problem } from '../core/problems.ts'
import { createTimeLimit } from '../core/timeout.ts'
import type { AnswerPart, ModelCall } from '../ports/ai/models.ts'
import type { Reservation } from '../ports/ai/usage-ledger.ts'
import { cutBy, isRefusal, type StreamPart, type Usage, type UsagePart, type WholeAnswer } from './answer.ts'
import type { Approvals } from './approvals/approvals.ts'
import { boundNativeUses, CallMeter, LimitCut } from './call-meter.ts'
import { CallRecord, type RecordedContext } from './call-record.ts'
import { maxInputTokens } from './request/input-tokens.ts'
import { boundOutput } from './reservation.ts'

type PartOf<Type extends StreamPart['type']> = Extract<StreamPart, { type: Type }>

type MeteredContext = RecordedContext & Pick<Context, 'hangUp' | 'hangUpUnread'>

/** For a whole call, where the settings of the provider say nothing else. */
export const TOTAL_MS = 300_000

/** How long after the end of its time a call waits for a reader who has not taken what was sent. */
const HANG_UP_AFTER_MS = 1000

interface MeteredCallOptions {
  reservation: Reservation
  call: ModelCall
  approvals: Approvals
  /** Let go of when the call is over. */
  held: Disposable
  /** Makes the call of another model with what this one reserved, if there is one; fails never. */
  fallback?: () => Promise<MeteredCall | undefined>
}

/** One call of a model, which leaves exactly one usage record, however it ends. */
export class MeteredCall {
  readonly #ctx: MeteredContext
  readonly #reservation: Reservation
  readonly #call: ModelCall
  readonly #approvals: Approvals
  readonly #makeFallback: MeteredCallOptions['fallback']
  readonly #meter: CallMeter
  readonly #record: CallRecord
  readonly #cut: AnswerCut
  /** Whether parts were handed out and none asked for after them. */
  #isHeld = false
  #hasEnded = false

  constructor(ctx: MeteredContext, { reservation, call, approvals, held, fallback }: MeteredCallOptions) {
    this.#ctx = ctx
    this.#reservation = reservation
    this.#call = call
    this.#approvals = approvals
    this.#makeFallback = fallback
    const { services } = ctx
    const { model, files, signal } = call
    this.#meter = new CallMeter({
      reservation,
      pricing: model.pricing,
      maxOutput: boundOutput(call, services.settings.maxOutputTokens),
      messages: call.messages.length,
      mostUses: boundNativeUses(call),
      // The meter may outlive the call, and must not keep what was asked.
      mostInput: (estimate) => maxInputTokens({ model, files }, estimate),
      extend: services.usageLedger.extend,
    })
    this.#cut = new AnswerCut(this.#meter)
    this.#record = new CallRecord(ctx, { operation: 'chat', reservation, meter: this.#meter, model, signal, held })
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
    this.#record.write('aborted')
  }

  async answer(): Promise<WholeAnswer> {
    this.#record.assertCaller()
    using time = this.#timeLimit()
    const call = { ...this.#call, signal: time.signal }
    try {
      const { models } = this.#ctx.services
      const answer = await this.#record.runWithin(() => this.#approvals.allowed.generate(models, call, this.#meter))
      this.#record.write(answer.finish === 'content-filter' ? 'refused' : 'completed')
      return { ...answer, content: [...answer.content], usage: this.#usage }
    } catch (error) {
      const fallback = await this.#fallback(error)
      if (fallback) return fallback.answer()
      return this.#failed(this.#record.fail(error))
    }
  }

  /** What came of calls that the person allowed is told, as they ran for once; throws where there were none. */
  #failed(problem: Problem): WholeAnswer {
    const { parts } = this.#approvals.allowed
    if (parts.length === 0) throw problem
    const failure = { code: problem.problem, message: problem.message }
    return { content: [...parts], finish: 'stop', usage: this.#usage, failure }
  }

  /** Parts of these types. Waits for the first, so that a failure before it is an error and not a stream. */
  async stream<Type extends StreamPart['type']>(types: readonly Type[]): Promise<AsyncGenerator<PartOf<Type>, void>> {
    this.#record.assertCaller()
    const batches = this.#batches(new Set<string>(types)) as AsyncGenerator<readonly PartOf<Type>[], void>
    const first = await batches.next()
    // A reader that takes no part `finish` would take a refused answer for an empty one.
    if (isRefusal(first.value?.[0]) && !types.some((type) => type === 'finish')) {
      await batches.return()
      throw new Problem('provider_refused')
    }
    // Nobody ends a generator whose reader goes away before it reads.
    this.#call.signal.addEventListener('abort', () => void batches.return(), { once: true })
    return flattenBatches(first, batches)
  }

  /** Parts that came together stay together: a step per part would cost more than the part. */
  async *#batches(wanted: ReadonlySet<string>): AsyncGenerator<readonly StreamPart[], void> {
    let outcome: Outcome = 'aborted'
    using time = this.#timeLimit()
    time.signal.addEventListener('abort', this.#endUnread, { once: true })
    try {
      const answer = this.#steps({ ...this.#call, signal: time.signal })
      const steps = this.#approvals.isNeeded ? this.#approvals.amid(answer) : answer
      for await (const pieces of steps) {
        this.#cut.hear(pieces.at(-1))
        const told = pieces.filter(({ type }) => wanted.has(type))
        if (told.length === 0) continue
        this.#isHeld = true
        yield told
        this.#isHeld = false
      }
      outcome = this.#cut.outcome
      this.#record.write(outcome)
      this.#isHeld = true
      yield [{ type: 'usage', ...this.#usage, ...this.#cost, ...this.#cut.told }]
    } catch (error) {
      outcome = 'failed'
      yield* this.#insteadOf(error, wanted)
    } finally {
      this.#isHeld = false
      this.#hasEnded = true
      // A reader that goes away ends the generator here, too.
      this.#record.write(this.#call.signal.aborted && outcome === 'failed' ? 'aborted' : outcome)
    }
  }

  /** The parts of the call that takes the place of this one; throws where there is none. */
  async *#insteadOf(error: unknown, wanted: ReadonlySet<string>): AsyncGenerator<readonly StreamPart[], void> {
    const fallback = await this.#fallback(error)
    if (!fallback) throw this.#record.problem(error)
    for await (const part of await fallback.stream([...wanted] as StreamPart['type'][])) yield [part]
  }

  /** The call that takes the place of this one, which took nothing then, and is as if it had not been made. */
  async #fallback(error: unknown): Promise<MeteredCall | undefined> {
    const { models } = this.#ctx.services
    const { input, output } = this.#meter.tokens
    if (this.#call.signal.aborted || input + output > 0 || !models.isProviderFault(error)) return undefined
    const fallback = await this.#makeFallback?.()
    if (!fallback) return undefined
    this.#record.drop(error)
    return fallback
  }

  #steps(call: ModelCall): AsyncIterable<readonly AnswerPart[]> {
    const answer = this.#approvals.allowed.stream(this.#ctx.services.models, call, this.#meter)
    const steps = this.#record.iterateWithin(answer)
    return this.#reservation.isEnforced ? this.#cut.withinReservation(steps) : steps
  }

  #timeLimit() {
    return createTimeLimit(this.#call.model.providerSettings.timeouts?.total ?? TOTAL_MS, this.#call.signal)
  }

  /**
   * Nobody resumes a generator whose reader takes nothing, so the end of its time must end it from outside. One that waits
   * for its provider then ends by itself; the reader may still take nothing of what was sent.
   */
  readonly #endUnread = (): void => {
    if (this.#call.signal.aborted) return
    if (this.#isHeld) this.#record.write('failed')
    const hangUp = () => {
      if (this.#isHeld) this.#ctx.hangUp()
      else if (this.#hasEnded) this.#ctx.hangUpUnread()
    }
    setTimeout(hangUp, HANG_UP_AFTER_MS).unref()
  }

  get #cost(): Pick<UsagePart, 'cost'> {
    const { costMicros: micros, currency } = this.#meter.cost
    return micros === null || currency === null ? {} : { cost: { micros, currency } }
  }

  get #usage(): Usage {
    const { input, output, cached, reasoning } = this.#meter.tokens
    return { inputTokens: input, outputTokens: output, cachedTokens: cached, reasoningTokens: reasoning }
  }
}

/** The parts of batches, of which the first was taken already. */
async function* flattenBatches<Part>(
  first: IteratorResult<readonly Part[], void>,
  rest: AsyncGenerator<readonly Part[], void>,
): AsyncGenerator<Part, void> {
  try {
    for (let step = first; !step.done; step = await rest.next()) yield* step.value
  } finally {
    await rest.return()
  }
}

const outcomeOf = { limit: 'cut', refusal: 'refused', length: 'completed' } as const satisfies Record<string, Outcome>

/** Whether an answer ended before its time, and why. */
class AnswerCut {
  readonly #meter: CallMeter
  #reason: UsagePart['cut']

  constructor(meter: CallMeter) {
    this.#meter = meter
  }

  get outcome(): Outcome {
    return this.#reason ? outcomeOf[this.#reason] : 'completed'
  }

  /** As the last part of a stream tells it. */
  get told(): Pick<UsagePart, 'cut'> {
    return this.#reason ? { cut: this.#reason } : {}
  }

  /** Keeps why the provider ended it, unless it was ended before. */
  hear(last: StreamPart | undefined): void {
    if (last?.type === 'finish') this.#reason ??= cutBy[last.reason]
  }

  /** Ends where the reservation does, or where no more is given for a further round. */
  async *withinReservation(steps: AsyncIterable<readonly AnswerPart[]>): AsyncGenerator<readonly AnswerPart[], void> {
    try {
      for await (const pieces of steps) {
        // An answer that is over by itself is not cut.
        if (pieces.at(-1)?.type !== 'finish' && !(await this.#meter.fits())) this.#reason = 'limit'
        if (this.#reason) break
        yield pieces
      }
    } catch (error) {
      if (!(error instanceof LimitCut)) throw error
      this.#reason = 'limit'
    }
    if (this.#reason === 'limit') yield [{ type: 'finish', reason: 'length' }]
  }
}
