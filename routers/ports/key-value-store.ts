/** Short-lived values, shared by all replicas where Redis is configured. Driver: in process, or Redis. */
export interface KeyValueStore {
  get(key: string): Promise<string | undefined>
  set(key: string, value: string, ttlMs: number): Promise<void>
  /** Returns true if the key was absent and is now set; only one of several concurrent calls succeeds. */
  setIfAbsent(key: string, value: string, ttlMs: number): Promise<boolean>
  delete(key: string): Promise<void>
  /** Sets the value if the stored one is still `expected` or has expired, and returns true if it did (compare-and-set). */
  replaceIfUnchanged(key: string, expected: string, value: string, ttlMs: number): Promise<boolean>
  /** Deletes the value if it is still `expected`. */
  deleteIfUnchanged(key: string, expected: string): Promise<void>
  /** Throws if the store does not respond. */
  ping(): Promise<void>
}

/** Stores responses under idempotency keys, and link previews. */
export type AnswerStore = Omit<KeyValueStore, 'ping'>
