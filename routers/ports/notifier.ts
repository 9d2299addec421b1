/** Wakes waiting callers, on any replica, when shared data is written. */
export interface Notifier {
  /** Reports a write of this key, without waiting or throwing. */
  notify(key: string): void
  /**
   * Returns the result of `look`, which runs at once, after each notification of one of the keys, and after possibly
   * missed ones. Undefined if there is none when the signal aborts.
   */
  waitFor<T>(keys: readonly string[], look: () => Promise<T | undefined>, signal: AbortSignal): Promise<T | undefined>
}
