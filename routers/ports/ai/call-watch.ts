/** A call of a tool that is under way. */
export interface WatchedCall {
  toolId: number
  /** The person for whom it is made. */
  userId: number
  /** True if a program of the person calls, and no model. */
  isByProgram: boolean
  /** Version of the approved definition; null for a function of an extension. */
  approvalVersion: string | null
}

/** Watches the right to calls of tools while they run, whichever replica takes it away. */
export interface CallWatch {
  /** Aborts the signal within a second if the person may not call the tool any more. Disposing ends the watch. */
  watch(call: WatchedCall): Disposable & { signal: AbortSignal }
}
