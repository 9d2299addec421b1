import { appendToAudit, type NewAuditEntry } from '../../entities/events/audit-entry.sql.ts'
import type { Sql } from '../../entities/sql/statement.ts'
import type { AuditLog } from '../../routers/ports/audit-log.ts'
import type { Log } from '../../routers/ports/log.ts'
import { Batch } from './write-behind.ts'

const GATHER_MS = 50
const MINUTE_MS = 60_000

/** How many failures of a minute with one key have entries of their own. */
const APART = 10
/** Beyond these, failures are summed up whoever they are of. */
const MAX_KEYS = 10_000

export function createAuditLog(sql: Sql, log: Log): AuditLog {
  const batch = new Batch<NewAuditEntry>({
    name: 'audit log',
    write: (entries) => sql(appendToAudit, [JSON.stringify(entries)]),
    log,
    gather: GATHER_MS,
  })
  const sums = new FailureSums((entry) => batch.add(entry))
  return {
    append: (entry) => batch.add(entry),
    appendFailure: (key, entry) => sums.add(key, entry),
    flush() {
      sums.flush()
      return batch.flush()
    },
  }
}

/** Lets the first few failures of a minute through, and the rest as a sum when it is over. */
class FailureSums {
  readonly #append: (entry: NewAuditEntry) => void
  #counts = new Map<string, { times: number; last: NewAuditEntry }>()
  #timer: NodeJS.Timeout | undefined

  constructor(append: (entry: NewAuditEntry) => void) {
    this.#append = append
  }

  add(key: string, entry: NewAuditEntry): void {
    this.#timer ??= setTimeout(() => this.flush(), MINUTE_MS).unref()
    const counted = this.#counts.has(key) || this.#counts.size < MAX_KEYS ? key : ''
    const times = (this.#counts.get(counted)?.times ?? 0) + 1
    this.#counts.set(counted, { times, last: entry })
    if (times <= APART) this.#append(entry)
  }

  flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    for (const { times, last } of this.#counts.values())
      if (times > APART) this.#append({ ...last, requestId: null, change: JSON.stringify({ times: times - APART }) })
    this.#counts = new Map()
  }
}
