import DataLoader from 'dataloader'
import { type HoldResult, holdExactly, holdTogether, holdUnlimited } from '../../../entities/ai/usage-hold.sql.ts'
import type { Sql, Statement } from '../../../entities/sql/statement.ts'
import { CatalogueChanged } from '../../../routers/ports/ai/callable-models.ts'
import type { CallProgress, Hold, HoldRefusal, HoldRequest } from '../../../routers/ports/ai/usage-ledger.ts'
import { type AskedCall, callOf, sumsOf, valuesOf } from './asked-calls.ts'
import { type Claim, LimitBook } from './limit-book.ts'
import { LimitsLeft, roomOf } from './limits-left.ts'

/** Limits change and periods begin while a call is judged, but not again and again. */
const MAX_TRIES = 5
const MAX_CALLS = 200
/** How many statements hold together at once: each by other stripes, while the next gathers the calls of the meantime. */
const MAX_STATEMENTS = 2

type Held = Hold | HoldRefusal

interface HoldQueueOptions {
  sql: Sql
  leaseMs: number
  /** Settles calls that have ended, before others are refused for what they held. */
  settleEnded(): Promise<void>
}

/**
 * Holds in one statement for all calls that began in one turn of the event loop and, of those to which a limit applies, for
 * all that came while the last such statements ran. Where they don't fit together, those that a limit stands in the way of are
 * judged exactly, at last one by one.
 */
export class HoldQueue {
  readonly #options: HoldQueueOptions
  readonly #book: LimitBook
  readonly #left = new LimitsLeft()
  readonly #unlimited: DataLoader<HoldRequest, Promise<Held>>
  readonly #limited: DataLoader<HoldRequest, Promise<Held>>
  /** Of each limit another stripe is taken each time; not the same ones on all replicas. */
  #turn = Math.floor(Math.random() * 1000)
  readonly #together = new Set<Promise<unknown>>()
  #lastExact: Promise<unknown> = Promise.resolve()

  constructor(options: HoldQueueOptions) {
    this.#options = options
    this.#book = new LimitBook(options.sql)
    const batching = { cache: false, maxBatchSize: MAX_CALLS }
    this.#unlimited = new DataLoader((requests) => byCatalogue(requests, (some) => this.#holdUnlimited(some)), {
      ...batching,
      batchScheduleFn: setImmediate,
    })
    this.#limited = new DataLoader((requests) => byCatalogue(requests, (some) => this.#next(some)), {
      ...batching,
      batchScheduleFn: (dispatch) => void this.#free().then(() => setImmediate(dispatch)),
    })
  }

  async hold(request: HoldRequest): Promise<Held> {
    return (this.#isLimited(request) ? this.#limited : this.#unlimited).load(request)
  }

  #isLimited = (request: HoldRequest) => this.#book.version === undefined || this.#book.claimsOf(request).length > 0

  /** As long as the limits are those that were known. */
  async #holdUnlimited(requests: readonly HoldRequest[]): Promise<Promise<Held>[]> {
    const calls = requests.map((request) => ({ request, claims: [] }))
    const values = [this.#book.version, JSON.stringify(calls.map(callOf)), requests[0]?.catalogue]
    const result = requests.some(this.#isLimited) ? undefined : await this.#run(holdUnlimited, values)
    const ids = result?.ids
    if (!ids) return requests.map(async (request) => this.#limited.load(request))
    return calls.map(async (call, index) => this.#holdOf(call, ids[index]))
  }

  #next(requests: readonly HoldRequest[]): Promise<Promise<Held>[]> {
    const held = this.#holdTogether(requests)
    const ended = held.catch(() => {}).finally(() => this.#together.delete(ended))
    this.#together.add(ended)
    return held
  }

  async #free(): Promise<void> {
    if (this.#together.size >= MAX_STATEMENTS) await Promise.race(this.#together)
  }

  async #holdTogether(requests: readonly HoldRequest[]): Promise<Promise<Held>[]> {
    const { judged, ids, misfits, rooms, wholes } = await this.#tryWith(requests, holdTogether)
    if (ids) {
      const sums = [...sumsOf(judged).values()].toSorted((one, other) => one.id - other.id)
      for (const [index, { claim, amount }] of sums.entries())
        this.#left.note(claim, claim.counters.ids.length > 1 ? wholes?.[index] : rooms?.[index], amount)
      return judged.map(async (call, index) => this.#holdOf(call, ids[index]))
    }
    const full = new Set(misfits)
    const { blocked = [], free = [] } = Object.groupBy(judged, ({ claims }) =>
      claims.some(({ id }) => full.has(id)) ? 'blocked' : 'free',
    )
    const exact = this.#inTurn(blocked.map(({ request }) => request))
    const others = free.length > 0 ? await this.#holdTogether(free.map(({ request }) => request)) : []
    const held = new Map<HoldRequest, Promise<Held>>([
      ...blocked.map(({ request }, index) => [request, exact.then((all) => all[index] as Held)] as const),
      ...free.map(({ request }, index) => [request, others[index] as Promise<Held>] as const),
    ])
    return requests.map((request) => held.get(request) as Promise<Held>)
  }

  /** One after the other: they lock every stripe, and would only wait for each other on connections that others need. */
  #inTurn(requests: readonly HoldRequest[]): Promise<Held[]> {
    const held = this.#lastExact.then(async () => {
      await this.#options.settleEnded()
      return this.#exactly(requests)
    })
    this.#lastExact = held.catch(() => {})
    return held
  }

  async #exactly(requests: readonly HoldRequest[]): Promise<Held[]> {
    const { judged, ids, limits } = await this.#tryWith(requests, holdExactly)
    if (ids) {
      const rooms = new Map(limits?.map((limit) => [limit.counter, roomOf(limit)]))
      for (const { id, claim, amount } of sumsOf(judged).values()) this.#left.note(claim, rooms.get(id), amount)
      return judged.map((call, index) => this.#holdOf(call, ids[index]))
    }
    if (requests.length === 1) return [{ limits: limits ?? [] }]
    const held: Held[] = []
    for (const request of requests) held.push(...(await this.#exactly([request])))
    return held
  }

  /** Tries again where the limits have changed, or a period has ended. */
  async #tryWith<Result extends HoldResult>(
    requests: readonly HoldRequest[],
    statement: Statement<Result>,
  ): Promise<Result & { judged: AskedCall[] }> {
    this.#turn++
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      if (tries > 0 || this.#book.version === undefined) await this.#book.load()
      const { version } = this.#book
      const claimed = requests.map((request) => ({ request, claims: this.#book.claimsOf(request) }))
      await this.#book.open(claimed.flatMap(({ claims }) => claims))
      const judged = claimed.flatMap((call) => this.#judgedBy(call) ?? [])
      if (judged.length < requests.length) continue
      const asked = valuesOf(judged, (claim) => this.#left.isDue(claim))
      const result = await this.#run(statement, [version, ...asked, requests[0]?.catalogue])
      if (result && !result.stale) return { ...result, judged }
    }
    throw new Error('the counters of the limits could not be opened')
  }

  async #run<Result extends HoldResult>(statement: Statement<Result>, values: unknown[]): Promise<Result | undefined> {
    const { sql, leaseMs } = this.#options
    const [result] = await sql(statement, [leaseMs, ...values])
    if (result?.changed) throw new CatalogueChanged()
    return result
  }

  #holdOf({ request, claims }: AskedCall, id: number | undefined): Hold {
    return {
      id: id as number,
      counters: claims.map(({ id: counter }) => counter),
      held: {
        tokens: claims.some(({ limit: { unit } }) => unit !== 'requests') ? request.tokens : null,
        costMicros: claims.some(({ measure }) => measure === 'cost') ? request.costMicros : null,
      },
      limits: claims.flatMap((claim) => this.#left.of(claim) ?? []),
      progress: () => atBeginning(request),
    }
  }

  #judgedBy({ request, claims }: { request: HoldRequest; claims: Claim[] }): AskedCall | undefined {
    const claimed = claims.flatMap((claim) => {
      const counters = this.#book.countersOf(claim)
      return counters ? { ...claim, counters, id: this.#stripeOf(claim, counters.ids) } : []
    })
    return claimed.length === claims.length ? { request, claims: claimed } : undefined
  }

  /** Those of a limit that only observes wait for one row, so that each is counted after the other. */
  #stripeOf({ limit }: Claim, ids: readonly number[]): number {
    return ids[limit.mode === 'observe' ? 0 : this.#turn % ids.length] as number
  }
}

type Judge = (requests: readonly HoldRequest[]) => Promise<Promise<Held>[]>

/** Calls are judged together whose models were seen in one version of the catalogue. */
async function byCatalogue(requests: readonly HoldRequest[], judge: Judge): Promise<Promise<Held>[]> {
  const held = new Map<HoldRequest, Promise<Held>>()
  for (const some of Map.groupBy(requests, ({ catalogue }) => catalogue).values()) {
    const judged = judge(some)
    for (const [index, request] of some.entries())
      held.set(
        request,
        judged.then((all) => all[index] as Promise<Held>),
      )
  }
  return requests.map((request) => held.get(request) as Promise<Held>)
}

const atBeginning = ({ call: { inputTokens, costMicros, currency } }: HoldRequest): CallProgress => ({
  ...{ inputTokens, costMicros, currency, outputTokens: 0, cachedTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 },
  ...{ webSearches: 0, webFetches: 0 },
  most: { tokens: null, costMicros: null },
})
