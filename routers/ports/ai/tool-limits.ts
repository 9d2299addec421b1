import type { ToolCost } from './tool-price.ts'
import type { QuotaExceeded, SubjectId } from './usage-ledger.ts'

/** A call of a tool with the subjects whose limits count it, and what it costs; null if nothing. */
export interface ToolCallClaim {
  subjects: readonly SubjectId[]
  cost: ToolCost | null
}

/** Counts calls of tools on the limits of such calls, and their costs on limits in money. */
export interface ToolLimits {
  /**
   * Counts a call on all limits that apply to it. Counts nothing if one has no room, and returns them. Without such limits
   * it only looks into memory.
   */
  count(call: ToolCallClaim): Promise<QuotaExceeded | undefined>
  /** Returns the limits that apply to a call if one has no room now, and counts only that refusal. */
  check(call: ToolCallClaim): Promise<QuotaExceeded | undefined>
  /** Tells the version of the limits that a statement has read, so that older ones are read again before a call. */
  noteVersion(version: number): void
}
