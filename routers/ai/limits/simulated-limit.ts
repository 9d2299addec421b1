import type { ActiveLimit } from '../../../entities/ai/usage-limit.sql.ts'
import type { RecordedCall } from '../../../entities/ai/usage-simulation.sql.ts'

export type SimulatedLimit = Omit<ActiveLimit, 'id'>

/** What a limit would have refused to one of those it counts, in one of its periods. */
export interface Refusals extends Pick<SimulatedLimit, 'mode' | 'subject' | 'unit' | 'currency' | 'cap'> {
  limit: string
  /** An id or a name; empty for the installation. */
  subjectId: string
  /** Of the person, also where it is one of their tokens. */
  username: string | null
  /** When the period began, in RFC 3339. */
  from: string
  calls: number
  refused: number
  /** What the refused calls took, in requests, tokens or millionths of the currency; as all that follows. */
  refusedAmount: number
  /** What the calls took that were let through, also those before the days that were asked for. */
  used: number
}

/** The counters of a limit in one period, which go when the next one begins. */
export class SimulatedCounters {
  readonly #limit: SimulatedLimit
  #startsAt = -Infinity
  #counters = new Map<string, Refusals>()

  constructor(limit: SimulatedLimit) {
    this.#limit = limit
  }

  /** Begins a period, and gives what was refused in the one before; nothing where it runs already. */
  begin(startsAt: number): Refusals[] {
    if (startsAt === this.#startsAt) return []
    const ended = this.#counters
    this.#startsAt = startsAt
    this.#counters = new Map()
    return [...ended.values()].filter(({ refused }) => refused > 0)
  }

  of(subjectId: string, { username }: RecordedCall): Refusals {
    const known = this.#counters.get(subjectId)
    if (known) return known
    const { name, mode, subject, unit, currency, cap } = this.#limit
    const counter: Refusals = {
      limit: name,
      mode,
      subject,
      subjectId,
      username: subject === 'user' || subject === 'token' ? username : null,
      from: new Date(this.#startsAt).toISOString(),
      ...{ unit, currency, cap, calls: 0, refused: 0, refusedAmount: 0, used: 0 },
    }
    this.#counters.set(subjectId, counter)
    return counter
  }
}
