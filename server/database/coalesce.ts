import { LRUCache } from 'lru-cache'
import type { Sql, Statement } from '../../entities/sql/statement.ts'
import { maxEntries } from '../../routers/core/load/cache-size.ts'

type Values = readonly unknown[]

/** How many runs of a statement may be under way while the next one gathers calls. */
const MAX_RUNS = 2
/** How long calls are gathered at most, in milliseconds, so that nobody waits for a run that is stuck. */
const MAX_WAIT_MS = 5
/** Statements with their values; one that is forgotten gathers anew. */
const MAX_KEYS = 1000

/**
 * Runs a coalesced statement once for all who call it with equal values in one turn of the event loop, or while its last runs
 * are under way. The rows are as fresh as if each had called alone: the run begins after the last of them called.
 */
export function coalesce(run: Sql): Sql {
  const known = new LRUCache<string, Coalesced>(maxEntries(MAX_KEYS))
  return <Row>(statement: Statement<Row>, values: Values = []) => {
    const key = buildKey(statement, values)
    let coalesced = known.get(key)
    if (!coalesced) {
      coalesced = new Coalesced(run, statement)
      known.set(key, coalesced)
    }
    return coalesced.call(values) as Promise<Row[]>
  }
}

/** The calls of one statement whose values differ in nothing but the ids. */
class Coalesced {
  readonly #run: Sql
  readonly #statement: Statement<unknown>
  #runs = 0
  /** The calls that wait for the next run, and the rows that it will give all of them. */
  #calls: Values[] = []
  #rows = Promise.withResolvers<unknown[]>()
  /** Begins the next run where none ends before. */
  #timer: NodeJS.Timeout | undefined

  constructor(run: Sql, statement: Statement<unknown>) {
    this.#run = run
    this.#statement = statement
  }

  call(values: Values): Promise<unknown[]> {
    if (this.#calls.push(values) === 1) this.#schedule()
    return this.#rows.promise
  }

  #schedule(): void {
    if (this.#runs < MAX_RUNS) setImmediate(() => this.#begin())
    else this.#timer = setTimeout(() => this.#begin(), MAX_WAIT_MS)
  }

  #begin(): void {
    const rows = this.#run(this.#statement, together(this.#statement, this.#calls))
    this.#rows.resolve(rows)
    this.#rows = Promise.withResolvers()
    this.#calls = []
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#runs++
    const noteEnd = () => this.#noteEnd()
    rows.then(noteEnd, noteEnd)
  }

  #noteEnd(): void {
    this.#runs--
    if (this.#timer) this.#begin()
  }
}

/** The values of all calls, with one list of ids. */
function together({ idsAt }: Statement<unknown>, [first = [], ...others]: readonly Values[]): Values {
  if (others.length === 0 || idsAt === undefined) return first
  return first.with(idsAt, [...new Set([first, ...others].flatMap((values) => values[idsAt]))])
}

function buildKey({ name, text, idsAt }: Statement<unknown>, values: Values): string {
  const shared = idsAt === undefined ? values : values.with(idsAt, null)
  return `${name || text} ${JSON.stringify(shared)}`
}
