import type { NewAuditEntry } from '../../entities/events/audit-entry.sql.ts'

/** Takes entries of the audit log that are written behind the answers. */
export interface AuditLog {
  /** Writes entries in a moment, and tries again while the database is away. */
  append(entry: NewAuditEntry): void
  /** As `append`; of many in one minute with the same `key`, all beyond the first ten become one entry. */
  appendFailure(key: string, entry: NewAuditEntry): void
  /** Writes what waits, sums of the running minute included. */
  flush(): Promise<void>
}
