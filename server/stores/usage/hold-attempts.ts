import { exchangeHold } from '../../../entities/ai/usage-exchange.sql.ts'
import { type HoldResult, holdExactly, holdTogether, type TogetherResult } from '../../../entities/ai/usage-hold.sql.ts'
import { holdAndTell } from '../../../entities/ai/usage-observed-hold.sql.ts'
import type { Sql, Statement } from '../../../entities/sql/statement.ts'
import { Outdated } from '../../../routers/ports/ai/callable-models.ts'
import type { HoldRequest } from '../../../routers/ports/ai/usage-ledger.ts'
import { type AskedCall, type AskedSum, type ClaimedCounter, sumsOf, valuesOf } from './asked-calls.ts'
import type { Claim, LimitBook } from './limit-book.ts'
import type { LimitsLeft } from './limits-left.ts'

/** Limits change and periods begin while a call is judged, but not again and again. */
const MAX_TRIES = 5

interface HoldAttemptsOptions {
  sql: Sql
  leaseMs: number
  book: LimitBook
  left: LimitsLeft
  /** Told of calls of which nobody knows whether they are held, and which are not made. */
  onUnmade(requests: readonly HoldRequest[]): void
}

/** A statement that holds, and its values beside those of all of them. */
interface Attempt<Result> {
  statement: Statement<Result>
  more: readonly unknown[]
}

type Judged<Result> = Result & {
  judged: AskedCall[]
  /** Of each counter, in the order of their ids. */
  sums: AskedSum[]
}

/** Runs the statements that hold calls by their limits, until the limits that this process knows are those of the database. */
export class HoldAttempts {
  readonly #options: HoldAttemptsOptions
  /** Of each limit another stripe is taken each time; not the same ones on all replicas. */
  #turn = Math.floor(Math.random() * 1000)

  constructor(options: HoldAttemptsOptions) {
    this.#options = options
  }

  /** Holds for all calls by one stripe of each limit, or for none. */
  together(requests: readonly HoldRequest[]) {
    return this.#tryWith(requests, this.#tellDue)
  }

  /** Holds for all calls by all stripes of each limit, or for none; for one alone, by the hold of another call. */
  exactly(requests: readonly HoldRequest[]) {
    const instead = requests[0]?.instead
    const attempt = instead ? { statement: exchangeHold, more: [instead.id] } : { statement: holdExactly, more: [] }
    return this.#tryWith(requests, () => attempt)
  }

  /** Tells what is left only where that is due: it takes longer. */
  #tellDue = (sums: readonly AskedSum[]): Attempt<TogetherResult> => {
    const observes = sums.map(({ claim }) => claim.limit.mode === 'observe')
    const tells = sums.map(({ claim }) => this.#options.left.isDue(claim))
    return observes.includes(true) || tells.includes(true)
      ? { statement: holdAndTell, more: [observes, tells] }
      : { statement: holdTogether, more: [] }
  }

  /** Tries again where the limits have changed, or a period has ended. */
  async #tryWith<Result extends HoldResult>(
    requests: readonly HoldRequest[],
    attemptFor: (sums: readonly AskedSum[]) => Attempt<Result>,
  ): Promise<Judged<Result>> {
    const { book } = this.#options
    this.#turn++
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      if (tries > 0 || book.version === undefined) await book.load()
      const { version } = book
      const judged = await this.#judge(requests)
      if (!judged) continue
      const sums = sumsOf(judged)
      const { statement, more } = attemptFor(sums)
      const values = [version, ...valuesOf(judged, sums), requests[0]?.catalogue, ...more]
      const result = await this.run(statement, requests, values)
      if (result && !result.stale) return { ...result, judged, sums }
    }
    throw new Error('the counters of the limits could not be opened')
  }

  /** Throws `Outdated` where the models or the callers may be other ones. Values: those after the lease. */
  async run<Result extends Pick<HoldResult, 'outdated'>>(
    statement: Statement<Result>,
    requests: readonly HoldRequest[],
    values: readonly unknown[],
  ): Promise<Result | undefined> {
    const { sql, leaseMs, onUnmade } = this.#options
    const [result] = await sql(statement, [leaseMs, ...values]).catch((error: unknown) => {
      onUnmade(requests)
      throw error
    })
    if (result?.outdated) throw new Outdated()
    return result
  }

  /** Undefined where a limit is gone. */
  async #judge(requests: readonly HoldRequest[]): Promise<AskedCall[] | undefined> {
    const { book } = this.#options
    const claimed = requests.map((request) => ({ request, claims: book.claimsOf(request) }))
    const judged = this.#judgedBy(claimed)
    if (judged) return judged
    await book.open(claimed.flatMap(({ claims }) => claims))
    return this.#judgedBy(claimed)
  }

  /** Undefined where a counter is not known. */
  #judgedBy(claimed: readonly { request: HoldRequest; claims: Claim[] }[]): AskedCall[] | undefined {
    const judged: AskedCall[] = []
    for (const { request, claims } of claimed) {
      const found = claims.flatMap((claim) => this.#chosenFor(claim, request) ?? [])
      if (found.length < claims.length) return undefined
      judged.push({ request, claims: found })
    }
    return judged
  }

  #chosenFor(claim: Claim, { instead }: HoldRequest): ClaimedCounter | undefined {
    const { limit, subjectId, amount, measure } = claim
    const counters = this.#options.book.countersOf(claim)
    if (!counters) return undefined
    const own = instead && counters.ids.find((id) => instead.counters.includes(id))
    return { limit, subjectId, amount, measure, counters, id: own ?? this.#stripeOf(claim, counters.ids) }
  }

  /** Those of a limit that only observes wait for one row, so that each is counted after the other. */
  #stripeOf({ limit }: Claim, ids: readonly number[]): number {
    return ids[limit.mode === 'observe' ? 0 : this.#turn % ids.length] as number
  }
}
