import type { Outcome } from '../../entities/ai/usage-record.ts'
import type { Context } from '../core/context.ts'
import { type Issue, Problem } from '../core/problems.ts'
import type { CallableModel } from '../ports/ai/models.ts'
import type { Reservation } from '../ports/ai/usage-ledger.ts'
import { type BudgetedMeter, LimitCut } from './budgeted-meter.ts'
import { callFailure } from './call-failure.ts'
import { quotaProblem } from './quota-exceeded.ts'

export type RecordedContext = Pick<Context, 'services' | 'requestId' | 'hints'>

interface Recorded {
  reservation: Reservation
  meter: BudgetedMeter
  model: CallableModel
  /** Where in the request its input is, which may be too long. */
  inputPath?: Issue['path']
  /** Ends when the caller goes away. */
  signal: AbortSignal
  /** Let go of when the call is over. */
  held?: Disposable
}

/** The one usage record of a call, however it ends. */
export class CallRecord {
  readonly #ctx: RecordedContext
  readonly #call: Recorded
  readonly #started = performance.now()
  #isWritten = false

  constructor(ctx: RecordedContext, call: Recorded) {
    this.#ctx = ctx
    this.#call = call
  }

  /** Commits what is reserved; only the first end counts. */
  write(outcome: Outcome): void {
    if (this.#isWritten) return
    this.#isWritten = true
    const { reservation, meter, model, held } = this.#call
    held?.[Symbol.dispose]()
    const durationMs = Math.round(performance.now() - this.#started)
    this.#ctx.services.usageLedger.commit(reservation, { ...meter.bill, outcome, durationMs })
    for (const reported of meter.implausible)
      this.#ctx.services.log.warn(
        { requestId: this.#ctx.requestId, provider: model.providerId, model: model.modelId, reported },
        'a provider counted more than it was sent and has sent: its counts are cut',
      )
  }

  /** Another call takes the place of this one, which is as if it had not been made. */
  drop(): void {
    this.#isWritten = true
  }

  /** Asks no provider for a caller who went away while the call was reserved for. */
  assertCaller(): void {
    if (!this.#call.signal.aborted) return
    this.write('aborted')
    throw new Problem('client_gone')
  }

  /** Writes that the call failed, and returns what its caller is told. */
  fail(error: unknown): Problem {
    if (error instanceof LimitCut) {
      this.write('cut')
      const refused = error.quota ? quotaProblem(this.#ctx, error.quota) : new Problem('unavailable')
      // Who repeats the call pays again for the rounds that were made.
      this.#ctx.hints.isFinal = true
      return refused
    }
    this.write(this.#call.signal.aborted ? 'aborted' : 'failed')
    return this.problem(error)
  }

  problem(error: unknown): Problem {
    const { aborted, reason } = this.#call.signal
    if (aborted) return reason instanceof Problem ? reason : new Problem('client_gone', { cause: error })
    this.#ctx.hints.isFinal = true
    return callFailure(this.#ctx, this.#call, error)
  }
}
