import { LRUCache } from 'lru-cache'
import type { Sql, Statement } from '../../entities/sql/statement.ts'
import { maxEntries } from '../../routers/core/load/cache-size.ts'

type Values = readonly unknown[]

/** Concurrent runs of a statement; while as many are running, further calls are collected. */
const MAX_RUNS = 2
/** Milliseconds after which collected calls run anyway, so that they do not wait for a stuck run. */
const MAX_WAIT_MS = 5
/** Largest number of combinations of statement and values that are tracked. */
const MAX_KEYS = 1000

/**
 * Runs a coalesced statement once for all callers with equal values in one turn of the event loop, or while its last runs are
 * in progress. Callers whose values differ in the ids share a run, too, and each gets the rows of its own ids. The rows are as fresh as if each had called alone, because the run starts after the last of these calls.
 */
export function coalesce(run: Sql): Sql {
  const cache = new LRUCache<string, CoalescedStatement>(maxEntries(MAX_KEYS))
  return <Row>(statement: Statement<Row>, values: Values = []) => {
    const key = buildKey(statement, values)
    let coalesced = cache.get(key)
    if (!coalesced) {
      coalesced = new CoalescedStatement(run, statement)
      cache.set(key, coalesced)
    }
    return coalesced.call(values) as Promise<Row[]>
  }
}

/** The calls of one statement whose values differ only in the ids. */
class CoalescedStatement {
  readonly #run: Sql
  readonly #statement: Statement<unknown>
  #runs = 0
  /** The values of calls that wait for the next run. */
  #calls: Values[] = []
  /** The rows of the next run, from which each of these calls takes its own. */
  #rows = Promise.withResolvers<RowsOfCall>()
  /** Starts the next run unless a running one ends first. */
  #timer: NodeJS.Timeout | undefined

  constructor(run: Sql, statement: Statement<unknown>) {
    this.#run = run
    this.#statement = statement
  }

  async call(values: Values): Promise<unknown[]> {
    if (this.#calls.push(values) === 1) this.#schedule()
    const rowsOf = await this.#rows.promise
    return rowsOf(values)
  }

  #schedule(): void {
    if (this.#runs < MAX_RUNS) setImmediate(() => this.#start())
    else this.#timer = setTimeout(() => this.#start(), MAX_WAIT_MS)
  }

  #start(): void {
    const rows = this.#run(this.#statement, mergeValues(this.#statement, this.#calls))
    this.#rows.resolve(rows.then((found) => separateRows(this.#statement, found)))
    this.#rows = Promise.withResolvers()
    this.#calls = []
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#runs++
    const onEnd = () => this.#onRunEnd()
    rows.then(onEnd, onEnd)
  }

  #onRunEnd(): void {
    this.#runs--
    if (this.#timer) this.#start()
  }
}

/** Merges the values of calls: their ids become one list. */
function mergeValues({ idsAt }: Statement<unknown>, [first = [], ...others]: readonly Values[]): Values {
  if (others.length === 0 || idsAt === undefined) return first
  return first.with(idsAt, [...new Set([first, ...others].flatMap((values) => values[idsAt]))])
}

type RowsOfCall = (values: Values) => unknown[]

/** Returns the function that picks the rows of one call among those of all, so that no caller receives rows of others. */
function separateRows({ idsAt, idColumn }: Statement<unknown>, rows: unknown[]): RowsOfCall {
  if (idsAt === undefined || idColumn === undefined) return () => rows
  const byId = Map.groupBy(rows as Readonly<Record<string, unknown>>[], (row) => `${row[idColumn]}`)
  return (values) => [...new Set(values[idsAt] as readonly unknown[])].flatMap((id) => byId.get(`${id}`) ?? [])
}

function buildKey({ name, text, idsAt }: Statement<unknown>, values: Values): string {
  const shared = idsAt === undefined ? values : values.with(idsAt, null)
  return `${name || text} ${JSON.stringify(shared)}`
}
