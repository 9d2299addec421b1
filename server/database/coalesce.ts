import { setTimeout as delay } from 'node:timers/promises'
import DataLoader from 'dataloader'
import { LRUCache } from 'lru-cache'
import type { Sql, Statement } from '../../entities/sql/statement.ts'
import { atMost } from '../../routers/core/load/cache-size.ts'

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
  const known = new LRUCache<string, Coalesced>(atMost(MAX_KEYS))
  return async <Row>(statement: Statement<Row>, values: Values = []) => {
    const key = keyOf(statement, values)
    const coalesced = known.get(key) ?? new Coalesced(run, statement)
    known.set(key, coalesced)
    return (await coalesced.call(values)) as Row[]
  }
}

/** The calls of one statement whose values differ in nothing but the ids. */
class Coalesced {
  readonly #loader: DataLoader<Values, Promise<unknown[]>>
  #runs = 0
  /** Of the first of the runs under way that ends. */
  #end = Promise.withResolvers<void>()

  constructor(run: Sql, statement: Statement<unknown>) {
    this.#loader = new DataLoader(
      async (calls) => {
        const rows = run(statement, together(statement, calls))
        this.#note(rows)
        // Returns promises, so that a slow or failing run does not affect other ones.
        return calls.map(() => rows)
      },
      { cache: false, batchScheduleFn: (dispatch) => this.#schedule(() => setImmediate(dispatch)) },
    )
  }

  async call(values: Values): Promise<unknown[]> {
    return await this.#loader.load(values)
  }

  #note(rows: Promise<unknown>): void {
    this.#runs++
    const noteEnd = () => {
      this.#runs--
      this.#end.resolve()
      this.#end = Promise.withResolvers()
    }
    rows.then(noteEnd, noteEnd)
  }

  #schedule(dispatch: () => void): void {
    if (this.#runs < MAX_RUNS) dispatch()
    else void Promise.race([this.#end.promise, delay(MAX_WAIT_MS)]).then(dispatch)
  }
}

/** The values of all calls, which have one list of ids. */
function together({ idsAt }: Statement<unknown>, [first = [], ...others]: readonly Values[]): Values {
  if (idsAt === undefined || others.length === 0) return first
  const ids = new Set([first, ...others].flatMap((values) => values[idsAt] as number[]))
  return first.with(idsAt, [...ids])
}

function keyOf({ name, text, idsAt }: Statement<unknown>, values: Values): string {
  const shared = idsAt === undefined ? values : values.with(idsAt, null)
  return `${name || text} ${JSON.stringify(shared)}`
}
