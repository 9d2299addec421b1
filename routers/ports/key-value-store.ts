/** Short-lived values, shared by all replicas where Redis is configured. Driver: in process, or Redis. */
export interface KeyValueStore {
  get(key: string): Promise<string | undefined>
  set(key: string, value: string, ttlMs: number): Promise<void>
  /** Returns true if the key was absent and is now set; only one of several concurrent calls succeeds. */
  setIfAbsent(key: string, value: string, ttlMs: number): Promise<boolean>
  delete(key: string): Promise<void>
  /** Replaces the value if it is `expected` or absent, and returns true if it did. */
  replaceOwn(key: string, expected: string, value: string, ttlMs: number): Promise<boolean>
  /** Deletes the value if it is `expected`. */
  deleteOwn(key: string, expected: string): Promise<void>
  /** Throws if the store does not respond. */
  ping(): Promise<void>
}

/** Stores responses under idempotency keys, and link previews. */
export type AnswerStore = Omit<KeyValueStore, 'ping'>
