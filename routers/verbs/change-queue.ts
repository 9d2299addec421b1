import type { LoggedChange } from '../../entities/rooms/change-log.sql.ts'
import { Problem } from '../core/problems.ts'
import type { Position, StreamFollower } from '../ports/change-streams.ts'

/** Changes that wait for a client; one that has more to read comes back and reads them from the log. */
const MAX_WAITING = 1000

/** What a stream tells and a client has not read yet. */
export class ChangeQueue implements StreamFollower {
  readonly #onOverflow: () => void
  #waiting: LoggedChange[] = []
  #end: Error | undefined
  #wake = () => {}

  constructor(onOverflow: () => void) {
    this.#onOverflow = onOverflow
  }

  changed(change: LoggedChange): void {
    if (this.#end) return
    this.#waiting.push(change)
    this.#wake()
    if (this.#waiting.length > MAX_WAITING) this.#overflow()
  }

  #overflow(): void {
    this.comeBack()
    this.#onOverflow()
  }

  moved({ epoch, seq }: Position): void {
    this.fail(new Problem('position_too_old', { meta: { position: `${epoch}:${seq}` } }))
  }

  /** Ends at once: what waits is not told any more. */
  fail(error: Error): void {
    this.#end ??= error
    this.#waiting = []
    this.#wake()
  }

  /** Ends without a word, which makes the client come back to where it was. */
  comeBack(): void {
    this.fail(new DOMException('The subscription has ended.', 'AbortError'))
  }

  /** Throws why it has ended, if it has. */
  assertOpen(): void {
    if (this.#end) throw this.#end
  }

  /** Resolves with the next change; throws why there is none to come. */
  async next(): Promise<LoggedChange> {
    for (;;) {
      this.assertOpen()
      const change = this.#waiting.shift()
      if (change) return change
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }
}
