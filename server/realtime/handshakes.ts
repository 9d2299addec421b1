/** How many may wait, as seconds of work. */
const MAX_WAIT_SECONDS = 20
const SLICE_MS = 50

/** Lets so many handshakes pass a second, in the order in which they came. */
export class HandshakeQueue {
  readonly #perSlice: number
  readonly #max: number
  readonly #waiting: (() => void)[] = []
  #left: number
  #timer: NodeJS.Timeout | undefined

  constructor(perSecond: number) {
    this.#perSlice = Math.max(1, Math.round((perSecond * SLICE_MS) / 1000))
    this.#max = perSecond * MAX_WAIT_SECONDS
    this.#left = this.#perSlice
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
    for (const run of this.#waiting.splice(0, this.#left)) {
      this.#left -= 1
      run()
    }
    this.#timer ??= setInterval(() => this.#nextSlice(), SLICE_MS).unref()
  }

  #nextSlice(): void {
    this.#left = this.#perSlice
    if (this.#waiting.length > 0) {
      this.#pass()
      return
    }
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}
