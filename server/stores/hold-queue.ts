import DataLoader from 'dataloader'
import type { CounterRow } from '../../entities/ai/usage-counter.sql.ts'
import { type AskedLimit, type HoldResult, holdExactly, holdTogether } from '../../entities/ai/usage-hold.sql.ts'
import type { Sql } from '../../entities/sql/statement.ts'
import type { CallProgress, Hold, HoldRefusal, HoldRequest, LimitLeft } from '../../routers/ports/usage-ledger.ts'
import { type Claim, LimitBook } from './limit-book.ts'

/** Limits change and periods begin while a call is judged, but not again and again. */
const MAX_TRIES = 5
const MAX_CALLS = 200

type Held = Hold | HoldRefusal

interface HoldQueueOptions {
  sql: Sql
  leaseMs: number
  /** Settles calls that have ended, before others are refused for what they held. */
  settleEnded(): Promise<void>
}

interface ClaimedCounter extends Claim {
  /** Of the stripe that was chosen. */
  id: number
  counters: CounterRow
}

/** A call, and the counters that it asks a part of. */
interface Judged {
  request: HoldRequest
  claims: ClaimedCounter[]
}

/**
 * Holds in one statement for all calls that began in one turn of the event loop, or while the last such statement ran. Where
 * they don't fit together, those that a limit stands in the way of are judged exactly, at last one by one.
 */
export class HoldQueue {
  readonly #options: HoldQueueOptions
  readonly #book: LimitBook
  readonly #loader: DataLoader<HoldRequest, Promise<Held>>
  /** Of each limit another stripe is taken each time; not the same ones on all replicas. */
  #turn = Math.floor(Math.random() * 1000)
  #lastTogether: Promise<unknown> = Promise.resolve()
  #lastExact: Promise<unknown> = Promise.resolve()

  constructor(options: HoldQueueOptions) {
    this.#options = options
    this.#book = new LimitBook(options.sql)
    this.#loader = new DataLoader((requests) => this.#next(requests), {
      cache: false,
      maxBatchSize: MAX_CALLS,
      batchScheduleFn: (dispatch) => void this.#lastTogether.then(() => setImmediate(dispatch)),
    })
  }

  async hold(request: HoldRequest): Promise<Held> {
    return this.#loader.load(request)
  }

  #next(requests: readonly HoldRequest[]): Promise<Promise<Held>[]> {
    const held = this.#together(requests)
    this.#lastTogether = held.catch(() => {})
    return held
  }

  async #together(requests: readonly HoldRequest[]): Promise<Promise<Held>[]> {
    const { judged, ids, misfits, rooms } = await this.#tryWith(requests, holdTogether)
    if (ids) {
      const left = leftOf(judged, rooms ?? [])
      return judged.map(async (call, index) => holdOf(call, ids[index], left))
    }
    const full = new Set(misfits)
    const { blocked = [], free = [] } = Object.groupBy(judged, ({ claims }) =>
      claims.some(({ id }) => full.has(id)) ? 'blocked' : 'free',
    )
    const exact = this.#inTurn(blocked.map(({ request }) => request))
    const others = free.length > 0 ? await this.#together(free.map(({ request }) => request)) : []
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
      const left = new Map(limits?.map((limit) => [limit.counter, roomOf(limit)]))
      return judged.map((call, index) => holdOf(call, ids[index], left))
    }
    if (requests.length === 1) return [{ limits: limits ?? [] }]
    const held: Held[] = []
    for (const request of requests) held.push(...(await this.#exactly([request])))
    return held
  }

  /** Tries again where the limits have changed, or a period has ended. */
  async #tryWith<Result extends HoldResult>(
    requests: readonly HoldRequest[],
    statement: { name: string; text: string; row?: Result },
  ): Promise<Result & { judged: Judged[] }> {
    this.#turn++
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      if (tries > 0 || this.#book.version === undefined) await this.#book.load()
      const { version } = this.#book
      const claimed = requests.map((request) => ({ request, claims: this.#book.claimsOf(request) }))
      await this.#book.open(claimed.flatMap(({ claims }) => claims))
      const judged = claimed.flatMap((call) => this.#judgedBy(call) ?? [])
      if (judged.length < requests.length) continue
      const sums = sumsOf(judged)
      const calls = JSON.stringify(judged.map(callOf))
      const values = [this.#options.leaseMs, version, ...sums, calls, sums[0].length]
      const [result] = await this.#options.sql<Result>(statement, values)
      if (result && !result.stale) return { ...result, judged }
    }
    throw new Error('the counters of the limits could not be opened')
  }

  #judgedBy({ request, claims }: { request: HoldRequest; claims: Claim[] }): Judged | undefined {
    const claimed = claims.flatMap((claim) => {
      const counters = this.#book.countersOf(claim)
      return counters ? { ...claim, counters, id: counters.ids[this.#turn % counters.ids.length] as number } : []
    })
    return claimed.length === claims.length ? { request, claims: claimed } : undefined
  }
}

/** Each counter once, by its id, with what all calls ask of it, which is unknown where it is for one of them. */
function sumsOf(judged: readonly Judged[]): [ids: number[], amounts: (number | null)[], caps: number[]] {
  const sums = new Map<number, { amount: number | null; cap: number }>()
  for (const { claims } of judged)
    for (const { id, limit, amount } of claims) {
      const before = sums.get(id)?.amount
      sums.set(id, { amount: amount === null || before === null ? null : amount + (before ?? 0), cap: limit.cap })
    }
  const all = [...sums.values()]
  return [[...sums.keys()], all.map(({ amount }) => amount), all.map(({ cap }) => cap)]
}

/** What is left of the counters that stand for a whole limit: those of one stripe. */
function leftOf(judged: readonly Judged[], rooms: readonly number[]): Map<number, number> {
  const ids = [...new Set(judged.flatMap(({ claims }) => claims.map(({ id }) => id)))].sort((a, b) => a - b)
  return new Map(ids.map((id, index) => [id, rooms[index] ?? 0]))
}

const roomOf = ({ cap, used, held, amount }: AskedLimit) => cap - used - held - (amount ?? 0)

const callOf = ({ request: { call }, claims }: Judged, n: number) => ({
  n,
  ...call,
  counters: claims.map(({ id }) => id),
  amounts: claims.map(({ amount }) => amount ?? 0),
  measures: claims.map(({ measure }) => measure),
})

const holdOf = ({ request, claims }: Judged, id: number | undefined, left: ReadonlyMap<number, number>): Hold => ({
  id: id as number,
  counters: claims.map(({ id: counter }) => counter),
  held: {
    tokens: claims.some(({ limit: { unit } }) => unit !== 'requests') ? request.tokens : null,
    costMicros: claims.some(({ measure }) => measure === 'cost') ? request.costMicros : null,
  },
  limits: claims.flatMap((claim) => limitLeft(claim, left.get(claim.id)) ?? []),
  progress: () => atBeginning(request),
})

const atBeginning = ({ call: { inputTokens, costMicros, currency } }: HoldRequest): CallProgress => ({
  ...{ inputTokens, costMicros, currency, outputTokens: 0, cachedTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 },
  most: { tokens: null, costMicros: null },
})

function limitLeft({ limit, counters }: ClaimedCounter, left: number | undefined): LimitLeft | undefined {
  if (left === undefined || counters.ids.length > 1) return undefined
  const { name, unit, currency, cap } = limit
  const { startsAt, endsAt } = counters
  return { name, unit, currency, cap, left, windowSeconds: (endsAt - startsAt) / 1000, resetsAt: endsAt }
}
