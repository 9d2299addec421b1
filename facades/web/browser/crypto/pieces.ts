import type { Bytes } from './encoding.ts'

/** Cuts bytes, which come in any parts, into a first piece of one size and others of another. */
export class Pieces {
  readonly #held: Bytes
  readonly #others: number
  #size: number
  #filled = 0

  constructor(first: number, others: number) {
    this.#held = new Uint8Array(Math.max(first, others))
    this.#size = first
    this.#others = others
  }

  /** Each piece that something follows; it is overwritten by the next one. */
  *add(part: Uint8Array): Generator<Bytes, void> {
    for (let at = 0; at < part.length; ) {
      if (this.#filled === this.#size) {
        yield this.rest
        this.#filled = 0
        this.#size = this.#others
      }
      const taken = part.subarray(at, at + this.#size - this.#filled)
      this.#held.set(taken, this.#filled)
      this.#filled += taken.length
      at += taken.length
    }
  }

  /** What came behind the last piece. */
  get rest(): Bytes {
    return this.#held.subarray(0, this.#filled)
  }
}
