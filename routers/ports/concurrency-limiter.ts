/** Counts what is open at a time under a key, over all replicas where they share a store. Driver: in process, or Redis. */
export interface ConcurrencyLimiter {
  /** Takes one of so many places; false where all are taken. */
  acquire(key: string, max: number): Promise<boolean>
  /** Gives back one that was taken here. */
  release(key: string): void
}
