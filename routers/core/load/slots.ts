import { Problem } from '../problems.ts'

interface SlotLimits {
  perKey: number
  inAll: number
}

/** Counts what is under way, in all and by key, and refuses more than the limits allow: calls, or bytes that they hold. */
export class Slots {
  readonly #limits: SlotLimits
  readonly #taken = new Map<string, number>()
  #total = 0

  constructor(limits: SlotLimits) {
    this.#limits = limits
  }

  get total(): number {
    return this.#total
  }

  /** Takes a slot, or so many, until it is disposed of. */
  take(key: string, count = 1): Disposable {
    const taken = this.#taken.get(key) ?? 0
    if (taken + count > this.#limits.perKey) throw new Problem('too_many_requests')
    if (this.#total + count > this.#limits.inAll) throw new Problem('busy')
    this.#taken.set(key, taken + count)
    this.#total += count
    return { [Symbol.dispose]: () => this.#release(key, count) }
  }

  #release(key: string, count: number): void {
    const left = (this.#taken.get(key) ?? 0) - count
    if (left > 0) this.#taken.set(key, left)
    else this.#taken.delete(key)
    this.#total -= count
  }
}
