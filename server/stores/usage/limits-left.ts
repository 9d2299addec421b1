import type { CounterRow } from '../../../entities/ai/usage-counter.sql.ts'
import type { AskedLimit } from '../../../entities/ai/usage-hold.sql.ts'
import type { ActiveLimit } from '../../../entities/ai/usage-limit.sql.ts'
import type { LimitLeft } from '../../../routers/ports/ai/usage-ledger.ts'

/** How long what is left of all stripes of a limit is taken for what it was, less what was asked since, in milliseconds. */
const FRESH_MS = 1000

interface Asked {
  limit: ActiveLimit
  counters: CounterRow
}

/** What is left of limits, as the statements tell that hold: of those with several counters not each time. */
export class LimitsLeft {
  readonly #known = new WeakMap<CounterRow, { left: number; at: number }>()

  /** Whether the next statement must tell. */
  isDue({ limit, counters }: Asked): boolean {
    if (limit.mode === 'observe' || counters.ids.length === 1) return false
    const { at = -Infinity } = this.#known.get(counters) ?? {}
    return performance.now() - at > FRESH_MS
  }

  /** Notes what was told of a limit; where nothing was, what was asked of it. */
  note({ counters }: Asked, told: number | null | undefined, amount: number | null): void {
    const known = this.#known.get(counters)
    if (typeof told === 'number') this.#known.set(counters, { left: told, at: performance.now() })
    else if (known) known.left -= amount ?? 0
  }

  /** Of a limit that is enforced; undefined where nothing is known. */
  of({ limit, counters }: Asked): LimitLeft | undefined {
    const known = this.#known.get(counters)
    if (!known || limit.mode === 'observe') return undefined
    const { name, unit, currency, cap } = limit
    const { toppedUp, windowSeconds, endsAt } = counters
    return { name, unit, currency, cap: cap + toppedUp, left: known.left, windowSeconds, resetsAt: endsAt }
  }
}

/** What is left after the call that asked. */
export const roomOf = ({ cap, used, held, amount }: AskedLimit) => cap - used - held - (amount ?? 0)
