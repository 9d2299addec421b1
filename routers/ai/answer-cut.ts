import type { Outcome } from '../../entities/ai/usage-record.ts'
import type { AnswerPart } from '../ports/ai/models.ts'
import { cutBy, type StreamPart, type UsagePart } from './answer.ts'
import { type BudgetedMeter, LimitCut } from './budgeted-meter.ts'

const outcomeOf = { limit: 'cut', refusal: 'refused', length: 'completed' } as const satisfies Record<string, Outcome>

/** Whether an answer ended before its time, and why. */
export class AnswerCut {
  readonly #meter: BudgetedMeter
  #reason: UsagePart['cut']

  constructor(meter: BudgetedMeter) {
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
