/** Lets so many through at once, and then so many a second. */
export class TokenBucket {
  readonly #capacity: number
  readonly #perSecond: number
  #left: number
  #at = performance.now()

  constructor(capacity: number, perSecond: number) {
    this.#capacity = capacity
    this.#perSecond = perSecond
    this.#left = capacity
  }

  /** Whether one more may pass now. */
  take(): boolean {
    const now = performance.now()
    this.#left = Math.min(this.#capacity, this.#left + ((now - this.#at) / 1000) * this.#perSecond)
    this.#at = now
    if (this.#left < 1) return false
    this.#left -= 1
    return true
  }
}
