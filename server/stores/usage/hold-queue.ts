import DataLoader from 'dataloader'
import { exchangeUnlimited } from '../../../entities/ai/usage-exchange.sql.ts'
import { holdUnlimited } from '../../../entities/ai/usage-hold.sql.ts'
import type { Sql } from '../../../entities/sql/statement.ts'
import type { CallProgress, Hold, HoldRequest } from '../../../routers/ports/ai/usage-ledger.ts'
import { type AskedCall, callOf } from './asked-calls.ts'
import { HoldAttempts } from './hold-attempts.ts'
import { byCatalogue, type Held, inOrder } from './hold-parts.ts'
import { LimitBook } from './limit-book.ts'
import { LimitsLeft, roomOf } from './limits-left.ts'

const MAX_CALLS = 200

interface HoldQueueOptions {
  sql: Sql
  leaseMs: number
  /** Settles calls that have ended, before others are refused for what they held. */
  settleEnded(): Promise<void>
  /** Told of calls of which nobody knows whether they are held, and which are not made. */
  onUnmade(requests: readonly HoldRequest[]): void
}

/**
 * Holds in one statement for all calls that began in one turn of the event loop and, of those to which a limit applies, for
 * all that came while the last such statement ran. Where they don't fit together, those that a limit stands in the way of are
 * judged exactly, at last one by one.
 */
export class HoldQueue {
  readonly #options: HoldQueueOptions
  readonly #book: LimitBook
  readonly #left = new LimitsLeft()
  readonly #attempts: HoldAttempts
  readonly #unlimited: DataLoader<HoldRequest, Promise<Held>>
  readonly #limited: DataLoader<HoldRequest, Promise<Held>>
  readonly #exchanged: DataLoader<HoldRequest, Promise<Held>>
  #lastTogether: Promise<unknown> = Promise.resolve()
  #lastExact: Promise<unknown> = Promise.resolve()

  constructor(options: HoldQueueOptions) {
    this.#options = options
    this.#book = new LimitBook(options.sql)
    this.#attempts = new HoldAttempts({ ...options, book: this.#book, left: this.#left })
    const batching = { cache: false, maxBatchSize: MAX_CALLS }
    const inOneTurn = { ...batching, batchScheduleFn: setImmediate }
    this.#unlimited = new DataLoader(
      (requests) => byCatalogue(requests, (some) => this.#holdUnlimited(some)),
      inOneTurn,
    )
    this.#exchanged = new DataLoader(
      (requests) => byCatalogue(requests, (some) => this.#exchangeUnlimited(some)),
      inOneTurn,
    )
    this.#limited = new DataLoader((requests) => byCatalogue(requests, (some) => this.#next(some)), {
      ...batching,
      batchScheduleFn: (dispatch) => void this.#lastTogether.then(() => setImmediate(dispatch)),
    })
  }

  async hold(request: HoldRequest): Promise<Held> {
    if (request.instead) return this.#mustTurn(request) ? this.#holdInTurn(request) : this.#exchanged.load(request)
    return (this.#isLimited(request) ? this.#limited : this.#unlimited).load(request)
  }

  #isLimited = (request: HoldRequest) => this.#book.version === undefined || this.#book.appliesTo(request)

  #mustTurn = (request: HoldRequest) => this.#isLimited(request) || Boolean(request.instead?.counters.length)

  async #holdInTurn(request: HoldRequest): Promise<Held> {
    return (await this.#inTurn([request]))[0] as Promise<Held>
  }

  /** As long as the limits are those that were known; a hold that is gone becomes none. */
  async #exchangeUnlimited(requests: readonly HoldRequest[]): Promise<Promise<Held>[]> {
    const calls = requests.map((request) => ({ request, claims: [] }))
    const holds = requests.map(({ instead }) => instead?.id)
    const values = [this.#book.version, JSON.stringify(calls.map(callOf)), requests[0]?.catalogue, holds, holds.length]
    const result = requests.some(this.#mustTurn)
      ? undefined
      : await this.#attempts.run(exchangeUnlimited, requests, values)
    const ids = result?.ids
    if (!ids) return requests.map((request) => this.#holdInTurn(request))
    return calls.map(async (call, index) => (ids[index] ? this.#holdOf(call, ids[index]) : { limits: [] }))
  }

  /** As long as the limits are those that were known. */
  async #holdUnlimited(requests: readonly HoldRequest[]): Promise<Promise<Held>[]> {
    const calls = requests.map((request) => ({ request, claims: [] }))
    const values = [this.#book.version, JSON.stringify(calls.map(callOf)), requests[0]?.catalogue]
    const result = requests.some(this.#isLimited)
      ? undefined
      : await this.#attempts.run(holdUnlimited, requests, values)
    const ids = result?.ids
    if (!ids) return requests.map(async (request) => this.#limited.load(request))
    return calls.map(async (call, index) => this.#holdOf(call, ids[index]))
  }

  #next(requests: readonly HoldRequest[]): Promise<Promise<Held>[]> {
    const held = this.#holdTogether(requests)
    // Without what was held, so that nothing of it is kept until the next calls.
    this.#lastTogether = held.then(
      () => {},
      () => {},
    )
    return held
  }

  async #holdTogether(requests: readonly HoldRequest[]): Promise<Promise<Held>[]> {
    const { judged, sums, ids, misfits, rooms, wholes } = await this.#attempts.together(requests)
    if (ids) {
      for (const [index, { claim, amount }] of sums.entries())
        this.#left.note(claim, claim.counters.ids.length > 1 ? wholes?.[index] : rooms?.[index], amount)
      return judged.map(async (call, index) => this.#holdOf(call, ids[index]))
    }
    const full = new Set(misfits)
    const { blocked = [], free = [] } = Object.groupBy(judged, ({ claims }) =>
      claims.some(({ id }) => full.has(id)) ? 'blocked' : 'free',
    )
    const some = { blocked: blocked.map(({ request }) => request), free: free.map(({ request }) => request) }
    const exact = this.#inTurn(some.blocked)
    const others = free.length > 0 ? this.#holdTogether(some.free) : Promise.resolve([])
    // Nobody waits for calls that are judged exactly but those who ask for them.
    await others.catch(() => {})
    return inOrder(requests, [
      [some.blocked, exact],
      [some.free, others],
    ])
  }

  /** One after the other: they lock every stripe, and would only wait for each other on connections that others need. */
  #inTurn(requests: readonly HoldRequest[]): Promise<Promise<Held>[]> {
    const held = this.#lastExact.then(async () => {
      await this.#options.settleEnded()
      return this.#exactly(requests)
    })
    this.#lastExact = held.catch(() => {})
    return held
  }

  async #exactly(requests: readonly HoldRequest[]): Promise<Promise<Held>[]> {
    const { judged, sums, ids, limits } = await this.#attempts.exactly(requests)
    if (ids) {
      const rooms = new Map(limits?.map((limit) => [limit.counter, roomOf(limit)]))
      for (const { id, claim, amount } of sums) this.#left.note(claim, rooms.get(id), amount)
      return judged.map(async (call, index) => this.#holdOf(call, ids[index]))
    }
    if (requests.length === 1) return [Promise.resolve({ limits: limits ?? [] })]
    const held: Promise<Held>[] = []
    for (const request of requests) {
      const one = this.#exactly([request]).then(([only]) => only as Promise<Held>)
      held.push(one)
      // One that fails takes nothing from those that are held.
      await one.catch(() => {})
    }
    return held
  }

  #holdOf({ request, claims }: AskedCall, id: number | undefined): Hold {
    return {
      id: id as number,
      counters: claims.map(({ id: counter }) => counter),
      isEnforced: claims.some(({ limit: { mode, unit } }) => mode === 'enforce' && unit !== 'requests'),
      held: {
        tokens: claims.some(({ limit: { unit } }) => unit !== 'requests') ? request.tokens : null,
        costMicros: claims.some(({ measure }) => measure === 'cost') ? request.costMicros : null,
      },
      limits: claims.flatMap((claim) => this.#left.of(claim) ?? []),
      progress: () => atBeginning(request),
    }
  }
}

const atBeginning = ({ call: { inputTokens, costMicros, currency } }: HoldRequest): CallProgress => ({
  ...{ inputTokens, costMicros, currency, outputTokens: 0, cachedTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 },
  ...{ webSearches: 0, webFetches: 0 },
  most: { tokens: null, costMicros: null },
})
