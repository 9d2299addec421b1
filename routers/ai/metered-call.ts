import type { Outcome } from '../../entities/ai/usage-record.ts'
import type { AnswerKnowledge } from '../assistants/knowledge/answer-knowledge.ts'
import { citeAnswer, citeStream } from '../assistants/knowledge/citation-writer.ts'
import type { CitedPassages } from '../assistants/knowledge/cited-passages.ts'
import type { Context } from '../core/context.ts'
import { Problem } from '../core/problems.ts'
import { createTimeLimit } from '../core/timeout.ts'
import type { AnswerPart, ModelCall } from '../ports/ai/models.ts'
import type { Reservation } from '../ports/ai/usage-ledger.ts'
import { cutByFinish, isRefusal, type StreamPart, type Usage, type UsagePart, type WholeAnswer } from './answer.ts'
import type { Approvals } from './approvals/approvals.ts'
import type { CallBounds } from './call-bounds.ts'
import { CallMeter, LimitCut } from './call-meter.ts'
import { CallRecord, type RecordedContext } from './call-record.ts'
import { addPassages } from './request/assistant-knowledge.ts'

type PartOf<Type extends StreamPart['type']> = Extract<StreamPart, { type: Type }>

type MeteredContext = RecordedContext & Pick<Context, 'hangUp' | 'hangUpUnread' | 'watchUnread'>

/** Default time limit of a whole call in milliseconds. */
export const TOTAL_MS = 300_000

/** Milliseconds that an expired call waits for a slow reader before it closes the connection. */
const HANG_UP_AFTER_MS = 1000

interface MeteredCallOptions {
  reservation: Reservation
  call: ModelCall
  bounds: CallBounds
  approvals: Approvals
  /** The knowledge of the assistant. The answer may cite numbers of its passages; all other numbers are removed. */
  knowledge?: AnswerKnowledge | undefined
  /** Released when the call ends. */
  memory: Disposable
  /**
   * Starts the call of a fallback model with a new reservation in place of this one, if there is one. Never rejects.
   */
  fallback?: () => Promise<MeteredCall | undefined>
}

/** A call of a model that writes exactly one usage record, however it ends. */
export class MeteredCall {
  readonly #ctx: MeteredContext
  readonly #reservation: Reservation
  readonly #call: ModelCall
  readonly #approvals: Approvals
  readonly #knowledge: AnswerKnowledge | undefined
  readonly #makeFallback: MeteredCallOptions['fallback']
  readonly #meter: CallMeter
  readonly #record: CallRecord
  readonly #cut: AnswerCut
  /** True if parts were yielded and the reader has not asked for more. */
  #isReaderBehind = false
  #hasEnded = false

  constructor(
    ctx: MeteredContext,
    { reservation, call, bounds, approvals, knowledge, memory, fallback }: MeteredCallOptions,
  ) {
    this.#ctx = ctx
    this.#reservation = reservation
    this.#call = call
    this.#approvals = approvals
    this.#knowledge = knowledge
    this.#makeFallback = fallback
    const { services } = ctx
    const { model, maxOutputTokens = Infinity, signal } = call
    this.#meter = new CallMeter({
      reservation,
      pricing: model.pricing,
      // A provider that was sent the limit counts no more than that.
      bounds: { ...bounds, unseenOutput: Math.min(bounds.unseenOutput, maxOutputTokens) },
      asksForThoughts: asksForThoughts(call),
      hasInstructions: hasInstructions(call),
      messages: call.messages.length,
      extend: services.ai.usageLedger.extend,
    })
    this.#cut = new AnswerCut(this.#meter)
    this.#record = new CallRecord(ctx, { operation: 'chat', reservation, meter: this.#meter, model, signal, memory })
  }

  /** Messages to the model, with the contents of attachments. */
  get messages(): ModelCall['messages'] {
    return this.#call.messages
  }

  get provider(): string {
    return this.#call.model.providerId
  }

  get model(): string {
    return this.#call.model.modelId
  }

  /** The assistant that was asked, with its version, as in `helper@3`. */
  get assistant(): string | undefined {
    return this.#call.assistant?.label
  }

  /** The number of passages that the model is given of knowledge; undefined without knowledge. */
  get passages(): number | undefined {
    return this.#knowledge?.passages.size
  }

  /** Ends the call before the model is asked. */
  abandon(): void {
    this.#record.write('aborted')
  }

  async answer(): Promise<WholeAnswer> {
    this.#record.assertCallerPresent()
    using time = this.#timeLimit()
    try {
      const { models } = this.#ctx.services.ai
      const call = await this.#completeCall(time.signal)
      const written = await this.#record.runWithin(() =>
        this.#approvals.approvedCalls.generate(models, call, this.#meter),
      )
      const answer = this.#cited ? citeAnswer(written, this.#cited) : written
      this.#record.write(answer.finish === 'content-filter' ? 'refused' : 'completed')
      return { ...answer, content: [...answer.content], usage: this.#usage }
    } catch (error) {
      const fallback = await this.#startFallback(error)
      if (fallback) return fallback.answer()
      return this.#toFailedAnswer(this.#record.fail(error))
    }
  }

  /**
   * Includes the results of approved tool calls in the error response, because those calls ran only once. Rethrows if
   * there are none.
   */
  #toFailedAnswer(problem: Problem): WholeAnswer {
    const { parts } = this.#approvals.approvedCalls
    if (parts.length === 0) throw problem
    const failure = { code: problem.problem, message: problem.message }
    return { content: [...parts], finish: 'stop', usage: this.#usage, failure }
  }

  /**
   * Streams the parts of these types. Waits for the first part, so that an earlier failure rejects instead of starting
   * a stream.
   */
  async stream<Type extends StreamPart['type']>(types: readonly Type[]): Promise<AsyncGenerator<PartOf<Type>, void>> {
    this.#record.assertCallerPresent()
    const batches = this.#batches(new Set<string>(types)) as AsyncGenerator<readonly PartOf<Type>[], void>
    const first = await batches.next()
    // A reader that skips `finish` parts would take a refusal for an empty answer.
    if (isRefusal(first.value?.[0]) && !types.some((type) => type === 'finish')) {
      await batches.return()
      throw new Problem('provider_refused')
    }
    // A generator is not ended if its reader disconnects before the first read.
    const end = () => void batches.return()
    this.#call.signal.addEventListener('abort', end, { once: true })
    // The reader may have left while the first part was awaited.
    if (this.#call.signal.aborted) end()
    return flattenBatches(first, batches)
  }

  /** Yields parts in the batches in which they arrived, because a step per part costs more than the part itself. */
  async *#batches(types: ReadonlySet<string>): AsyncGenerator<readonly StreamPart[], void> {
    let outcome: Outcome = 'aborted'
    using time = this.#timeLimit()
    time.signal.addEventListener('abort', this.#endUnreadStream, { once: true })
    this.#ctx.watchUnread(this.#ctx.services.settings.unreadTimeout, () => this.#record.write('cut'))
    try {
      const answer = this.#streamAnswer(await this.#completeCall(time.signal))
      const steps = this.#approvals.needsApproval ? this.#approvals.insertQuestions(answer) : answer
      for await (const parts of steps) {
        this.#cut.observe(parts.at(-1))
        const wantedParts = parts.filter(({ type }) => types.has(type))
        if (wantedParts.length === 0) continue
        this.#isReaderBehind = true
        yield wantedParts
        this.#isReaderBehind = false
      }
      outcome = this.#cut.outcome
      this.#record.write(outcome)
      this.#isReaderBehind = true
      const { answeredBy } = this.#ctx.notes.read()
      const { assistant } = this.#call
      const by = { ...(answeredBy !== undefined && { answeredBy }), ...(assistant && { assistant: assistant.label }) }
      yield [{ type: 'usage', ...this.#usage, ...this.#cost, ...this.#cut.usageField, ...by }]
    } catch (error) {
      outcome = 'failed'
      yield* this.#streamFallback(error, types)
    } finally {
      this.#isReaderBehind = false
      this.#hasEnded = true
      // A disconnecting reader ends the generator here as well.
      this.#record.write(this.#call.signal.aborted && outcome === 'failed' ? 'aborted' : outcome)
    }
  }

  /** Streams the fallback call. Throws if there is none. */
  async *#streamFallback(error: unknown, types: ReadonlySet<string>): AsyncGenerator<readonly StreamPart[], void> {
    const fallback = await this.#startFallback(error)
    if (!fallback) throw this.#record.toProblem(error)
    for await (const part of await fallback.stream([...types] as StreamPart['type'][])) yield [part]
  }

  /** Starts the fallback call if the provider failed and this call took no tokens; its record is then discarded. */
  async #startFallback(error: unknown): Promise<MeteredCall | undefined> {
    const { models } = this.#ctx.services.ai
    const { input, output } = this.#meter.tokens
    if (this.#call.signal.aborted || input + output > 0 || !models.isProviderFault(error)) return undefined
    const fallback = await this.#makeFallback?.()
    if (!fallback) return undefined
    this.#record.discard(error)
    return fallback
  }

  /** Searches in knowledge for a model that does not, only now, as the budget is reserved and people of a room are told. */
  #completeCall(signal: AbortSignal): Promise<ModelCall> | ModelCall {
    const call = { ...this.#call, signal }
    const { search } = this.#knowledge ?? {}
    return search ? addPassages(call, search) : call
  }

  /** An answer in JSON has no place for citations, and its numbers in brackets are lists. */
  get #cited(): CitedPassages | undefined {
    return this.#call.format ? undefined : this.#knowledge?.passages
  }

  #streamAnswer(call: ModelCall): AsyncIterable<readonly AnswerPart[]> {
    const answer = this.#approvals.approvedCalls.stream(this.#ctx.services.ai.models, call, this.#meter)
    const written = this.#record.iterateWithin(answer)
    const steps = this.#reservation.isEnforced ? this.#cut.withinReservation(written) : written
    return this.#cited ? citeStream(steps, this.#cited) : steps
  }

  #timeLimit() {
    return createTimeLimit(this.#call.model.providerSettings.timeouts?.total ?? TOTAL_MS, this.#call.signal)
  }

  /**
   * Ends an expired call from outside, because a generator is not resumed if its reader takes nothing. A call that
   * waits for its provider ends by itself, but its reader may still not take what was sent.
   */
  readonly #endUnreadStream = (): void => {
    if (this.#call.signal.aborted) return
    if (this.#isReaderBehind) this.#record.write('failed')
    const hangUp = () => {
      if (this.#isReaderBehind) this.#ctx.hangUp()
      else if (this.#hasEnded) this.#ctx.hangUpUnread()
    }
    setTimeout(hangUp, HANG_UP_AFTER_MS).unref()
  }

  get #cost(): Pick<UsagePart, 'cost'> {
    const { costMicros: micros, currency } = this.#meter.cost
    return micros === null || currency === null ? {} : { cost: { micros, currency } }
  }

  get #usage(): Usage {
    const { input, output, cached, cacheWrite, reasoning } = this.#meter.tokens
    return {
      inputTokens: input,
      outputTokens: output,
      cachedTokens: cached,
      cacheWriteTokens: cacheWrite,
      reasoningTokens: reasoning,
    }
  }
}

const hasInstructions = ({ tools, callerTools, nativeTools, format }: ModelCall): boolean =>
  tools.length + callerTools.length + nativeTools.length > 0 || format !== undefined

const asksForThoughts = ({ parameters: { effort = 'none', thinking, maxThinkingTokens = 0 } }: ModelCall): boolean =>
  effort !== 'none' || thinking !== undefined || maxThinkingTokens > 0

/** Yields the parts of all batches; the first batch was already read. */
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

const outcomeByCut = { limit: 'cut', refusal: 'refused', length: 'completed' } as const satisfies Record<
  string,
  Outcome
>

/** Tracks whether and why an answer was cut. */
class AnswerCut {
  readonly #meter: CallMeter
  #reason: UsagePart['cut']

  constructor(meter: CallMeter) {
    this.#meter = meter
  }

  get outcome(): Outcome {
    return this.#reason ? outcomeByCut[this.#reason] : 'completed'
  }

  /** The cut as a field of the last stream part. */
  get usageField(): Pick<UsagePart, 'cut'> {
    return this.#reason ? { cut: this.#reason } : {}
  }

  /** Keeps the provider's reason, unless the answer was cut before. */
  observe(last: StreamPart | undefined): void {
    if (last?.type === 'finish') this.#reason ??= cutByFinish[last.reason]
  }

  /** Ends the answer where its reservation ends, or where limits have no room for another round. */
  async *withinReservation(steps: AsyncIterable<readonly AnswerPart[]>): AsyncGenerator<readonly AnswerPart[], void> {
    try {
      for await (const parts of steps) {
        // A finished answer is not cut.
        if (parts.at(-1)?.type !== 'finish' && !(await this.#meter.fitsReservation())) this.#reason = 'limit'
        if (this.#reason) break
        yield parts
      }
    } catch (error) {
      if (!(error instanceof LimitCut)) throw error
      this.#reason = 'limit'
    }
    if (this.#reason === 'limit') yield [{ type: 'finish', reason: 'length' }]
  }
}
