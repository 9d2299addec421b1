/** Remembers which parts did not answer, so that for some time callers do without them instead of waiting again. */
export class Pauses {
  readonly #ends = new Map<string, number>()

  begin(key: string, ms: number): void {
    this.#ends.set(key, performance.now() + ms)
  }

  has(key: string): boolean {
    const end = this.#ends.get(key)
    if (end === undefined) return false
    if (performance.now() < end) return true
    this.#ends.delete(key)
    return false
  }
}
