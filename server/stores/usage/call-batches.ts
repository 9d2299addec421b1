import DataLoader from 'dataloader'

const MAX_CALLS = 200
/** Largest number of attempts: limits, periods and counters may change while a batch is judged, but not every time. */
export const MAX_TRIES = 10

/** Judges the open calls by one statement, notes their outcomes, and returns the calls to retry. An error is an outcome, too. */
type JudgeOpen<Call, Outcome> = (
  open: readonly Call[],
  outcomes: Map<Call, Outcome | Error>,
) => Promise<readonly Call[]>

/** Judges together all calls that arrived during the last batch, as often as it takes until each has an outcome. */
export class CallBatches<Call, Outcome> {
  readonly #judgeOpen: JudgeOpen<Call, Outcome>
  readonly #loader: DataLoader<Call, Outcome>
  #last: Promise<unknown> = Promise.resolve()

  constructor(judgeOpen: JudgeOpen<Call, Outcome>) {
    this.#judgeOpen = judgeOpen
    this.#loader = new DataLoader((calls) => this.#judgeNext(calls), {
      cache: false,
      maxBatchSize: MAX_CALLS,
      batchScheduleFn: (dispatch) => void this.#last.then(() => setImmediate(dispatch)),
    })
  }

  /** Adds a call to the next batch. Throws if its outcome is an error. */
  add(call: Call): Promise<Outcome> {
    return this.#loader.load(call)
  }

  /** Judges a call that cannot share a statement, without waiting for others. Throws if its outcome is an error. */
  async judgeAlone(call: Call): Promise<Outcome> {
    const [outcome] = await this.#judge([call])
    if (outcome instanceof Error) throw outcome
    return outcome as Outcome
  }

  #judgeNext(calls: readonly Call[]): Promise<(Outcome | Error)[]> {
    const judged = this.#judge(calls)
    this.#last = judged.then(
      () => {},
      () => {},
    )
    return judged
  }

  async #judge(calls: readonly Call[]): Promise<(Outcome | Error)[]> {
    const outcomes = new Map<Call, Outcome | Error>()
    let open = calls
    for (let tries = 0; open.length > 0; tries++) {
      if (tries === MAX_TRIES) throw new Error('the limits changed during every attempt to judge calls')
      open = await this.#judgeOpen(open, outcomes)
    }
    return calls.map((call) => outcomes.get(call) as Outcome | Error)
  }
}
