import type { QuotaExceeded, SubjectId } from './usage-ledger.ts'

/** Counts calls of tools on the limits of such calls. */
export interface ToolLimits {
  /**
   * Counts a call on all limits that apply to its subjects. Counts nothing if one has no room, and returns them. Without
   * such limits it only looks into memory.
   */
  count(subjects: readonly SubjectId[]): Promise<QuotaExceeded | undefined>
  /** Tells the version of the limits that a statement has read, so that older ones are read again before a call. */
  noteVersion(version: number): void
}
