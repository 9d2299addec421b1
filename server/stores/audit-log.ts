import { appendToAudit, type NewAuditEntry } from '../../entities/events/audit-entry.sql.ts'
import type { Sql } from '../../entities/sql/statement.ts'
import type { AuditLog } from '../../routers/ports/audit-log.ts'
import type { Log } from '../../routers/ports/log.ts'
import { BatchWriter } from './batch-writer.ts'

const GATHER_MS = 50
const MINUTE_MS = 60_000

/** Failures per minute and key that get an entry each. */
const MAX_SEPARATE = 10
/** Keys that are counted separately; failures of all further keys share one count. */
const MAX_KEYS = 10_000

/** Creates the audit log, which writes entries in batches. */
export function createAuditLog(sql: Sql, log: Log): AuditLog {
  const batch = new BatchWriter<NewAuditEntry>({
    name: 'audit log',
    write: (entries) => sql(appendToAudit, [JSON.stringify(entries)]),
    log,
    delayMs: GATHER_MS,
  })
  const failures = new FailureAggregator((entry) => batch.add(entry))
  return {
    append: (entry) => batch.add(entry),
    appendFailure: (key, entry) => failures.add(key, entry),
    flush() {
      failures.flush()
      return batch.flush()
    },
  }
}

/** Passes on the first failures of each minute, and the rest as one entry with their number at its end. */
class FailureAggregator {
  readonly #append: (entry: NewAuditEntry) => void
  #counts = new Map<string, { times: number; last: NewAuditEntry }>()
  #timer: NodeJS.Timeout | undefined

  constructor(append: (entry: NewAuditEntry) => void) {
    this.#append = append
  }

  add(key: string, entry: NewAuditEntry): void {
    this.#timer ??= setTimeout(() => this.flush(), MINUTE_MS).unref()
    const countedKey = this.#counts.has(key) || this.#counts.size < MAX_KEYS ? key : ''
    const times = (this.#counts.get(countedKey)?.times ?? 0) + 1
    this.#counts.set(countedKey, { times, last: entry })
    if (times <= MAX_SEPARATE) this.#append(entry)
  }

  flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    for (const { times, last } of this.#counts.values())
      if (times > MAX_SEPARATE)
        this.#append({ ...last, requestId: null, change: JSON.stringify({ times: times - MAX_SEPARATE }) })
    this.#counts = new Map()
  }
}
