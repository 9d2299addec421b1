/** A rate limiter that allows a burst of `capacity`, and then `perSecond`. */
export class TokenBucket {
  readonly #capacity: number
  readonly #perSecond: number
  #tokens: number
  #updatedAt = performance.now()

  constructor(capacity: number, perSecond: number) {
    this.#capacity = capacity
    this.#perSecond = perSecond
    this.#tokens = capacity
  }

  /** Takes a token; returns false if there is none. */
  take(): boolean {
    const now = performance.now()
    this.#tokens = Math.min(this.#capacity, this.#tokens + ((now - this.#updatedAt) / 1000) * this.#perSecond)
    this.#updatedAt = now
    if (this.#tokens < 1) return false
    this.#tokens -= 1
    return true
  }
}
