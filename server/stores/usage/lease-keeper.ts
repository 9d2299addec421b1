import { renewLeases } from '../../../entities/ai/usage-lease.sql.ts'
import type { Sql } from '../../../entities/sql/statement.ts'
import type { CallProgress, Hold } from '../../../routers/ports/ai/usage-ledger.ts'

/** How long a hold stands for which its process says nothing, in milliseconds. */
export const LEASE_MS = 30_000
/** After which a call that took nothing more is told of again. */
const RENEWAL_MS = 10_000

interface Told {
  at: number
  outputTokens: number
  inputTokens: number
  webSearches: number
  webFetches: number
}

/** Tells the database of the calls that this process makes: of those that took more since, and at times of the others. */
export class LeaseKeeper {
  readonly #sql: Sql
  readonly #holds = new Set<Hold>()
  /** Only of calls that last: most are over before they are told of once. */
  readonly #told = new Map<Hold, Told>()
  readonly #extending = new Set<Hold>()
  #running: Promise<void> | undefined

  constructor(sql: Sql) {
    this.#sql = sql
  }

  add(hold: Hold): void {
    this.#holds.add(hold)
  }

  remove(hold: Hold): void {
    this.#holds.delete(hold)
    this.#told.delete(hold)
  }

  /** Of all holds of this process whose calls have not ended. */
  get ids(): number[] {
    return Array.from(this.#holds, ({ id }) => id)
  }

  /** One statement for all, and one at a time. */
  tell(): Promise<void> {
    this.#running ??= this.#tellDue().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  /** Does what makes a hold greater, while nothing makes it smaller. */
  async whileUntold<Result>(hold: Hold, extend: () => Promise<Result>): Promise<Result> {
    this.#extending.add(hold)
    try {
      await this.#running?.catch(() => {})
      return await extend()
    } finally {
      this.#extending.delete(hold)
    }
  }

  async #tellDue(): Promise<void> {
    const at = performance.now()
    const due = [...this.#holds]
      .filter((hold) => !this.#extending.has(hold))
      .map((hold) => ({ hold, progress: hold.progress() }))
      .filter(({ hold, progress }) => this.#isDue(hold, progress, at))
    if (due.length === 0) return
    for (const { hold, progress } of due) hold.held = smaller(hold.held, progress.most)
    await this.#sql(renewLeases, valuesOf(due))
    for (const { hold, progress } of due) if (this.#holds.has(hold)) this.#told.set(hold, { at, ...progress })
  }

  #isDue(hold: Hold, progress: CallProgress, at: number): boolean {
    const told = this.#told.get(hold)
    if (!told) return true
    const isMoved =
      told.outputTokens !== progress.outputTokens ||
      told.inputTokens !== progress.inputTokens ||
      told.webSearches !== progress.webSearches ||
      told.webFetches !== progress.webFetches
    return isMoved || at - told.at >= RENEWAL_MS
  }
}

const smaller = (held: Hold['held'], most: Hold['held']): Hold['held'] => ({
  tokens: held.tokens === null ? null : Math.min(held.tokens, most.tokens ?? Infinity),
  costMicros: held.costMicros === null ? null : Math.min(held.costMicros, most.costMicros ?? Infinity),
})

/** In the order of the statement's values. */
const columns = [
  'inputTokens',
  'outputTokens',
  'cachedTokens',
  'cacheWriteTokens',
  'reasoningTokens',
  'webSearches',
  'webFetches',
  'costMicros',
  'currency',
] as const satisfies (keyof CallProgress)[]

const valuesOf = (due: readonly { hold: Hold; progress: CallProgress }[]) => [
  due.map(({ hold }) => hold.id),
  ...columns.map((column) => due.map(({ progress }) => progress[column])),
  due.map(({ progress }) => progress.most.tokens),
  due.map(({ progress }) => progress.most.costMicros),
  LEASE_MS,
  due.length,
]
