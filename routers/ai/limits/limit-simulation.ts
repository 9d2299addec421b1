import type { ActiveLimit } from '../../../entities/ai/usage-limit.sql.ts'
import type { RecordedCall } from '../../../entities/ai/usage-simulation.sql.ts'
import type { SubjectId } from '../../ports/ai/usage-ledger.ts'
import { type Claim, countsTools, LimitIndex } from './limit-index.ts'

type SimulatedLimit = Omit<ActiveLimit, 'id'>

/** Calls that a limit would have refused to one subject in one period. */
export interface Refusals extends Pick<SimulatedLimit, 'mode' | 'subject' | 'unit' | 'currency' | 'cap'> {
  limit: string
  /** Id or name of the subject; empty for the installation. */
  subjectId: string
  /** Username of the person, also for limits on one of their tokens. */
  username: string | null
  /** Start of the period in RFC 3339. */
  from: string
  calls: number
  refused: number
  /** Amount of the refused calls in requests, tokens or millionths of the currency, as all amounts below. */
  refusedAmount: number
  /** Amount of the accepted calls, including those of the period before the requested days. */
  used: number
}

/** Counters of a limit in one period; the next period drops them. */
class SimulatedCounters {
  readonly #limit: SimulatedLimit
  #startsAt = -Infinity
  #counters = new Map<string, Refusals>()

  constructor(limit: SimulatedLimit) {
    this.#limit = limit
  }

  /** Starts a period and returns the refusals of the previous one. Returns nothing if the period is already running. */
  startPeriod(startsAt: number): Refusals[] {
    if (startsAt === this.#startsAt) return []
    const endedRefusals = this.#counters
    this.#startsAt = startsAt
    this.#counters = new Map()
    return [...endedRefusals.values()].filter(({ refused }) => refused > 0)
  }

  getCounter(subjectId: string, { username }: RecordedCall): Refusals {
    const existing = this.#counters.get(subjectId)
    if (existing) return existing
    const { name, mode, subject, unit, currency, cap } = this.#limit
    const counter: Refusals = {
      limit: name,
      mode,
      subject,
      subjectId,
      username: subject === 'user' || subject === 'token' ? username : null,
      from: new Date(this.#startsAt).toISOString(),
      unit,
      currency,
      cap,
      calls: 0,
      refused: 0,
      refusedAmount: 0,
      used: 0,
    }
    this.#counters.set(subjectId, counter)
    return counter
  }
}

/** Returns the distinct periods of the limits. Each recorded call has their start times in this order. */
export function listPeriods(limits: readonly SimulatedLimit[]): { keys: string[]; values: [string[], string[]] } {
  const all = [...new Map(limits.map((limit) => [periodKey(limit), limit])).values()]
  return { keys: all.map(periodKey), values: [all.map(({ period }) => period), all.map(({ timeZone }) => timeZone)] }
}

const periodKey = ({ period, timeZone }: SimulatedLimit) => `${period} ${timeZone}`

/** The amount that a call takes of a limit, and the counter for it. */
interface JudgedClaim {
  amount: number | null
  counter: Refusals
  fits: boolean
}

/**
 * Replays recorded calls of models against limits; limits of calls of tools are left out, but not what tools cost. It keeps one period per limit, so its memory grows with the number of
 * subjects, not of calls.
 */
export class LimitSimulation {
  readonly totals = {
    calls: 0,
    /** Calls that an enforced limit would have refused. */
    refused: 0,
  }
  readonly #index: LimitIndex<SimulatedLimit>
  readonly #limits: ReadonlyMap<SimulatedLimit, { counters: SimulatedCounters; position: number }>

  constructor(all: readonly SimulatedLimit[]) {
    const limits = all.filter((limit) => !countsTools(limit))
    const { keys } = listPeriods(all)
    this.#index = new LimitIndex(limits)
    this.#limits = new Map(
      limits.map((limit) => [
        limit,
        { counters: new SimulatedCounters(limit), position: keys.indexOf(periodKey(limit)) },
      ]),
    )
  }

  /** Replays calls in the order of their start and yields refusals when periods end. */
  async *run(batches: AsyncIterable<readonly RecordedCall[]>): AsyncGenerator<Refusals[], void> {
    for await (const calls of batches) {
      const endedRefusals = calls.flatMap((call) => this.#addCall(call))
      if (endedRefusals.length > 0) yield endedRefusals
    }
    for (const { counters } of this.#limits.values()) yield counters.startPeriod(Infinity)
  }

  #addCall(call: RecordedCall): Refusals[] {
    const claims = this.#index
      .listClaims({ ...call, subjects: listSubjects(call) })
      .filter(({ limit }) => call.kind === 'model' || limit.unit === 'money')
    const endedRefusals = claims.flatMap(({ limit }) => this.#startPeriod(limit, call))
    const judgedClaims = claims.map((claim) => this.#judgeClaim(claim, call))
    const isRefused = judgedClaims.some(({ fits, counter: { mode } }) => !fits && mode === 'enforce')
    if (!isRefused) for (const { counter, amount } of judgedClaims) counter.used += amount ?? 0
    if (call.isAsked) this.#countRefusals(judgedClaims, isRefused)
    return endedRefusals
  }

  #startPeriod(limit: SimulatedLimit, { periods }: RecordedCall): Refusals[] {
    const { counters, position } = this.#limits.get(limit) ?? {}
    return counters?.startPeriod(periods[position ?? 0] ?? 0) ?? []
  }

  #judgeClaim({ limit, subjectId, amount }: Claim<SimulatedLimit>, call: RecordedCall): JudgedClaim {
    const counter = this.#limits.get(limit)?.counters.getCounter(subjectId, call) as Refusals
    return { amount, counter, fits: amount !== null && counter.used + amount <= counter.cap }
  }

  #countRefusals(judgedClaims: readonly JudgedClaim[], isRefused: boolean): void {
    this.totals.calls += 1
    if (isRefused) this.totals.refused += 1
    for (const { counter, amount, fits } of judgedClaims) {
      counter.calls += 1
      if (fits) continue
      counter.refused += 1
      counter.refusedAmount += amount ?? 0
    }
  }
}

/** Returns the limit subjects of a recorded call. For a deleted person only the call itself is known. */
const listSubjects = ({
  userId,
  role,
  groups,
  roomId,
  appId,
  tokenId,
  kind,
  provider,
  model,
}: RecordedCall): SubjectId[] => [
  ['installation', ''],
  ...(role === null ? [] : [['role', role] as const]),
  ...(groups ?? []).map((group) => ['group', group] as const),
  ...(roomId === null ? [] : [['room', `${roomId}`] as const]),
  ...(appId === null ? [] : [['app', `${appId}`] as const]),
  ...(userId === null ? [] : [['user', `${userId}`] as const]),
  ...(tokenId === null ? [] : [['token', `${tokenId}`] as const]),
  ...(kind === 'model'
    ? ([
        ['provider', provider],
        ['model', model],
      ] as const)
    : []),
]
