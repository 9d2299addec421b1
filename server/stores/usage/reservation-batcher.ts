import { randomUUID } from 'node:crypto'
import { countRefusals } from '../../../entities/ai/usage-counter.sql.ts'
import {
  claimReservation,
  listUnclaimed,
  nextReservationIds,
  type RequestedLimit,
  releaseReservations,
  replaceReservation,
  reserveTogether,
  reserveUsage,
} from '../../../entities/ai/usage-reservation.sql.ts'
import type { Sql } from '../../../entities/sql/statement.ts'
import { CatalogueOutdated } from '../../../routers/ports/ai/callable-models.ts'
import {
  type CallProgress,
  hasRoom,
  QuotaExceeded,
  type Reservation,
  type ReserveRequest,
  readTicket,
  writeTicket,
} from '../../../routers/ports/ai/usage-ledger.ts'
import { CallBatches, MAX_TRIES } from './call-batches.ts'
import { judgeOneByOne, judgeTogether } from './judge-calls.ts'
import type { CounterClaim, LimitCache } from './limit-cache.ts'

/** Number of ids that are fetched at a time. */
const ID_BLOCK = 500

interface ReservationBatcherOptions {
  sql: Sql
  leaseMs: number
  limits: LimitCache
  /** Is called with reservations that may have been made although their statement failed. */
  onOrphaned(ids: readonly number[]): void
  /** Holds ended calls that are not committed yet, and so still occupy all that they reserved. */
  usageWriter: { readonly unwritten: readonly number[]; flush(): Promise<void> }
}

/** One attempt of a request. */
interface Attempt {
  request: ReserveRequest
  /** True if a request that does not fit is refused for good, and so counts as a refusal. */
  isLast: boolean
}

interface Candidate {
  attempt: Attempt
  id: number
  claims: CounterClaim[]
  /** Present if the reservation is for a later call. */
  ticket?: string
}

type Outcome = Reservation | QuotaExceeded

/**
 * Reserves in one statement for all calls that arrived during the last one. If they do not fit together, it judges them one
 * after the other and reserves for those that fit.
 */
export class ReservationBatcher {
  readonly #options: ReservationBatcherOptions
  readonly #batches = new CallBatches<Attempt, Outcome>((open, outcomes) => this.#reserveOpen(open, outcomes))
  #ids: number[] = []

  constructor(options: ReservationBatcherOptions) {
    this.#options = options
  }

  /** Reserves for a call. Throws `CatalogueOutdated` if its model may have changed meanwhile. */
  async reserve(request: ReserveRequest): Promise<Outcome> {
    const { usageWriter } = this.#options
    if (usageWriter.unwritten.length > 0) {
      const reserved = await this.#load({ request, isLast: false })
      if (!(reserved instanceof QuotaExceeded)) return reserved
      await usageWriter.flush()
    }
    return this.#load({ request, isLast: true })
  }

  /**
   * Reserves for later calls, for all of them or for none, and returns their tickets. Throws `CatalogueOutdated` if one
   * of their models may have changed meanwhile.
   */
  async reserveTogether(requests: readonly ReserveRequest[]): Promise<string[] | QuotaExceeded> {
    const { sql, usageWriter } = this.#options
    await Promise.all([usageWriter.flush(), releaseUnclaimed(sql, requests[0]?.call.userId)])
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const outcome = await this.#tryTogether(requests)
      if (outcome) return outcome
    }
    throw new Error('the limits changed during every attempt to reserve')
  }

  /** Returns undefined if the limits have changed meanwhile. */
  async #tryTogether(requests: readonly ReserveRequest[]): Promise<string[] | QuotaExceeded | undefined> {
    const { limits } = this.#options
    if (limits.version === undefined) await limits.load()
    const { version } = limits
    const claimed = await this.#claim(requests.map((request) => ({ request, isLast: true })))
    const candidates = claimed?.map((candidate) => ({ ...candidate, ticket: randomUUID() }))
    const result = candidates && (await this.#run(candidates, version))
    if (!result || result.isStale) {
      await limits.load()
      return undefined
    }
    if (result.outdated) throw new CatalogueOutdated()
    if (result.isGranted) return candidates.map(writeTicket)
    const { refused } = judgeTogether(candidates, new Map(result.limits.map((limit) => [limit.counter, limit])))
    await this.#countRefusals(refused)
    return refused.values().next().value
  }

  /** Adds an attempt to the next batch. A call that replaces a reservation is processed alone, because the statement releases one only. */
  #load(attempt: Attempt): Promise<Outcome> {
    const { replaces, ticket } = attempt.request
    return replaces || ticket !== undefined ? this.#batches.judgeAlone(attempt) : this.#batches.add(attempt)
  }

  /** Reserves for all open attempts, or refuses those that do not fit; returns the attempts to retry. */
  async #reserveOpen(open: readonly Attempt[], outcomes: Map<Attempt, Outcome | Error>): Promise<readonly Attempt[]> {
    const { limits } = this.#options
    if (limits.version === undefined) await limits.load()
    const { version } = limits
    const candidates = await this.#claim(open)
    const result = candidates && (await this.#run(candidates, version))
    if (!result || result.isStale) {
      await limits.load()
      return open
    }
    const { outdated = [], current = [] } = Object.groupBy(candidates, ({ id }) =>
      result.outdated?.includes(id) ? 'outdated' : 'current',
    )
    for (const { attempt } of outdated) outcomes.set(attempt, new CatalogueOutdated())
    const states = new Map(result.limits.map((limit) => [limit.counter, limit]))
    if (result.isGranted) {
      for (const candidate of current) outcomes.set(candidate.attempt, buildReservation(candidate, states))
      return []
    }
    const { fitting, refused } = judgeOneByOne(current, states)
    for (const [{ attempt }, exceeded] of refused) outcomes.set(attempt, exceeded)
    await this.#countRefusals(refused)
    return fitting.map(({ attempt }) => attempt)
  }

  /** Assigns ids and claims to the attempts; returns undefined if a limit no longer exists. */
  async #claim(attempts: readonly Attempt[]): Promise<Candidate[] | undefined> {
    const claims = await this.#options.limits.claim(attempts.map(({ request }) => request))
    if (!claims) return undefined
    const ids = await this.#takeIds(attempts.length)
    return attempts.map((attempt, at) => ({ attempt, id: ids[at] as number, claims: claims[at] ?? [] }))
  }

  async #takeIds(count: number): Promise<number[]> {
    if (this.#ids.length < count) {
      const next = await this.#options.sql(nextReservationIds, [ID_BLOCK])
      this.#ids.push(...next.map(({ id }) => id))
    }
    return this.#ids.splice(0, count)
  }

  async #run(candidates: readonly Candidate[], version: number | undefined) {
    const { sql, leaseMs, onOrphaned } = this.#options
    const values = [leaseMs, version, JSON.stringify(candidates.map(toCall))]
    const [first] = candidates
    const { replaces, ticket } = first?.attempt.request ?? {}
    const reserved = ticket === undefined ? undefined : readTicket(ticket)
    const run = () => {
      if (first?.ticket) return sql(reserveTogether, values)
      if (replaces) return sql(replaceReservation, [...values, replaces.id])
      return reserved ? sql(claimReservation, [...values, reserved.id, reserved.ticket]) : sql(reserveUsage, values)
    }
    try {
      const [result] = await run()
      return result
    } catch (error) {
      onOrphaned(candidates.map(({ id }) => id))
      throw error
    }
  }

  async #countRefusals(refused: ReadonlyMap<Candidate, QuotaExceeded>): Promise<void> {
    const counters = [...refused].flatMap(
      ([
        {
          attempt: { isLast },
        },
        { limits },
      ]) => (isLast ? limits.filter((limit) => !hasRoom(limit)).map(({ counter }) => counter) : []),
    )
    if (counters.length > 0) await this.#options.sql(countRefusals, [counters])
  }
}

/** Releases what was reserved for calls that were not made: that of a person, or all whose time is over. */
export async function releaseUnclaimed(sql: Sql, person?: number): Promise<void> {
  const unclaimed = await sql(listUnclaimed, [person ?? null])
  if (unclaimed.length > 0) await sql(releaseReservations, [unclaimed.map(({ id }) => id), unclaimed.length])
}

/** Converts a candidate to an element of the statement's JSON. */
const toCall = ({ id, ticket, attempt: { request }, claims }: Candidate) => ({
  id,
  ticket,
  catalogue: request.catalogue,
  ...request.call,
  // A replica of an earlier version takes a reservation without a call for a lost call, which must cost nothing.
  ...(ticket !== undefined && { inputTokens: 0, costMicros: 0 }),
  counters: claims.map(({ counter }) => counter),
  amounts: claims.map(({ amount }) => amount),
  measures: claims.map(({ measure }) => measure),
})

function buildReservation(
  { id, attempt: { request }, claims }: Candidate,
  states: ReadonlyMap<number, RequestedLimit>,
): Reservation {
  return {
    id,
    counters: claims.map(({ counter }) => counter),
    isEnforced: claims.some(({ limit: { mode, unit } }) => mode === 'enforce' && unit !== 'requests'),
    reserved: {
      tokens: claims.some(({ limit: { unit } }) => unit !== 'requests') ? request.tokens : null,
      costMicros: claims.some(({ measure }) => measure === 'cost') ? request.costMicros : null,
    },
    limits: claims.flatMap(({ counter }) => states.get(counter) ?? []),
    progress: () => buildInitialProgress(request),
  }
}

const buildInitialProgress = ({ call: { inputTokens, costMicros, currency } }: ReserveRequest): CallProgress => ({
  inputTokens,
  costMicros,
  currency,
  outputTokens: 0,
  cachedTokens: 0,
  cacheWriteTokens: 0,
  reasoningTokens: 0,
  webSearches: 0,
  webFetches: 0,
  max: { tokens: null, costMicros: null },
})
