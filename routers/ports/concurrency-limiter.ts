/** Limits concurrent uses of a key, across replicas if they share a store. Drivers: in process, and Redis. */
export interface ConcurrencyLimiter {
  /** Acquires a slot; false if `max` slots are in use. */
  acquire(key: string, max: number): Promise<boolean>
  /** Releases a slot that was acquired here. */
  release(key: string): void
}
