import type { ActiveLimit } from '../../../entities/ai/usage-limit.sql.ts'
import type { RecordedCall } from '../../../entities/ai/usage-simulation.sql.ts'
import type { SubjectId } from '../../ports/ai/usage-ledger.ts'
import { type Claim, LimitIndex } from './limit-index.ts'

type SimulatedLimit = Omit<ActiveLimit, 'id'>

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
class SimulatedCounters {
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

/** The periods of the limits, each once: with each call is told when they began, in this order. */
export function listPeriods(limits: readonly SimulatedLimit[]): { keys: string[]; values: [string[], string[]] } {
  const all = [...new Map(limits.map((limit) => [periodKey(limit), limit])).values()]
  return { keys: all.map(periodKey), values: [all.map(({ period }) => period), all.map(({ timeZone }) => timeZone)] }
}

const periodKey = ({ period, timeZone }: SimulatedLimit) => `${period} ${timeZone}`

/** A part of a limit that a call took, and the counter for it. */
interface Judged {
  amount: number | null
  counter: Refusals
  fits: boolean
}

/**
 * Counts calls of the past by limits as if these had held. It knows one period of each limit at a time, so its memory grows
 * with those who called in it, not with the calls.
 */
export class LimitSimulation {
  readonly totals = {
    calls: 0,
    /** Calls that a limit which is enforced would have refused. */
    refused: 0,
  }
  readonly #index: LimitIndex<SimulatedLimit>
  readonly #limits: ReadonlyMap<SimulatedLimit, { counters: SimulatedCounters; position: number }>

  constructor(limits: readonly SimulatedLimit[]) {
    const { keys } = listPeriods(limits)
    this.#index = new LimitIndex(limits)
    this.#limits = new Map(
      limits.map((limit) => [
        limit,
        { counters: new SimulatedCounters(limit), position: keys.indexOf(periodKey(limit)) },
      ]),
    )
  }

  /** Takes calls in the order in which they began, and gives what is refused as periods end. */
  async *run(batches: AsyncIterable<readonly RecordedCall[]>): AsyncGenerator<Refusals[], void> {
    for await (const calls of batches) {
      const ended = calls.flatMap((call) => this.#take(call))
      if (ended.length > 0) yield ended
    }
    for (const { counters } of this.#limits.values()) yield counters.begin(Infinity)
  }

  #take(call: RecordedCall): Refusals[] {
    const claims = this.#index.claimsOf({ ...call, subjects: listSubjects(call) })
    const ended = claims.flatMap(({ limit }) => this.#begin(limit, call))
    const judged = claims.map((claim) => this.#judge(claim, call))
    const isRefused = judged.some(({ fits, counter: { mode } }) => !fits && mode === 'enforce')
    if (!isRefused) for (const { counter, amount } of judged) counter.used += amount ?? 0
    if (call.isAsked) this.#count(judged, isRefused)
    return ended
  }

  #begin(limit: SimulatedLimit, { periods }: RecordedCall): Refusals[] {
    const { counters, position } = this.#limits.get(limit) ?? {}
    return counters?.begin(periods[position ?? 0] ?? 0) ?? []
  }

  #judge({ limit, subjectId, amount }: Claim<SimulatedLimit>, call: RecordedCall): Judged {
    const counter = this.#limits.get(limit)?.counters.of(subjectId, call) as Refusals
    return { amount, counter, fits: amount !== null && counter.used + amount <= counter.cap }
  }

  #count(judged: readonly Judged[], isRefused: boolean): void {
    this.totals.calls += 1
    if (isRefused) this.totals.refused += 1
    for (const { counter, amount, fits } of judged) {
      counter.calls += 1
      if (fits) continue
      counter.refused += 1
      counter.refusedAmount += amount ?? 0
    }
  }
}

/** Of somebody who was removed no more is known than what they asked. */
const listSubjects = ({ userId, role, groups, roomId, appId, tokenId, provider, model }: RecordedCall): SubjectId[] => [
  ['installation', ''],
  ...(role === null ? [] : [['role', role] as const]),
  ...(groups ?? []).map((group) => ['group', group] as const),
  ...(roomId === null ? [] : [['room', `${roomId}`] as const]),
  ...(appId === null ? [] : [['app', `${appId}`] as const]),
  ...(userId === null ? [] : [['user', `${userId}`] as const]),
  ...(tokenId === null ? [] : [['token', `${tokenId}`] as const]),
  ['provider', provider],
  ['model', model],
]
