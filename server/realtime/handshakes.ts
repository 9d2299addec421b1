import { TokenBucket } from './token-bucket.ts'

/** How many may wait, as seconds of work. */
const MAX_WAIT_SECONDS = 20
const SLICE_MS = 50

/** Lets so many handshakes pass a second, in the order in which they came. */
export class HandshakeQueue {
  readonly #bucket: TokenBucket
  readonly #max: number
  readonly #waiting: (() => void)[] = []
  #timer: NodeJS.Timeout | undefined

  constructor(perSecond: number) {
    // Room for two slices: a timer that is late must not slow the others down.
    this.#bucket = new TokenBucket(Math.max(1, (2 * perSecond * SLICE_MS) / 1000), perSecond)
    this.#max = perSecond * MAX_WAIT_SECONDS
  }

  /** Runs it when it is its turn; returns false where too many wait already. */
  add(run: () => void): boolean {
    if (this.#waiting.length >= this.#max) return false
    this.#waiting.push(run)
    this.#pass()
    return true
  }

  /** Runs all that wait at once. */
  close(): void {
    clearInterval(this.#timer)
    for (const run of this.#waiting.splice(0)) run()
  }

  #pass(): void {
    while (this.#waiting.length > 0 && this.#bucket.take()) this.#waiting.shift()?.()
    if (this.#waiting.length > 0) {
      this.#timer ??= setInterval(() => this.#pass(), SLICE_MS).unref()
      return
    }
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}
