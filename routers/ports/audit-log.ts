import type { NewAuditEntry } from '../../entities/events/audit-entry.sql.ts'

/** Accepts audit entries that are written after the response. */
export interface AuditLog {
  /** Writes entries soon, and retries while the database is unavailable. */
  append(entry: NewAuditEntry): void
  /** Works like `append`; entries beyond the first ten of a minute with the same `key` become one entry. */
  appendFailure(key: string, entry: NewAuditEntry): void
  /** Writes pending entries, including the sums of the current minute. */
  flush(): Promise<void>
}
