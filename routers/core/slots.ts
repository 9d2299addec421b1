import { Problem } from './problems.ts'

interface SlotLimits {
  perKey: number
  inAll: number
}

/** Counts what is under way, in all and by key, and refuses more than the limits allow. */
export class Slots {
  readonly #limits: SlotLimits
  readonly #taken = new Map<string, number>()
  #total = 0

  constructor(limits: SlotLimits) {
    this.#limits = limits
  }

  /** Takes a slot until it is disposed of. */
  take(key: string): Disposable {
    const taken = this.#taken.get(key) ?? 0
    if (taken >= this.#limits.perKey) throw new Problem('too_many_requests')
    if (this.#total >= this.#limits.inAll) throw new Problem('busy')
    this.#taken.set(key, taken + 1)
    this.#total++
    return { [Symbol.dispose]: () => this.#release(key) }
  }

  #release(key: string): void {
    const left = (this.#taken.get(key) ?? 0) - 1
    if (left > 0) this.#taken.set(key, left)
    else this.#taken.delete(key)
    this.#total--
  }
}
