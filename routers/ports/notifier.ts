/** Wakes those who wait, on any replica, for something that is written where all replicas read. */
export interface Notifier {
  /** Says that what has this key was written. Neither waits nor throws. */
  notify(key: string): void
  /**
   * What `look` finds: at once, after each notice of one of the keys, and where notices may have been missed. Undefined where it
   * has found nothing by the end of the signal.
   */
  waitFor<T>(keys: readonly string[], look: () => Promise<T | undefined>, signal: AbortSignal): Promise<T | undefined>
}
