/** Short-lived values, shared by all replicas where Redis is configured. Driver: in process, or Redis. */
export interface KeyValueStore {
  get(key: string): Promise<string | undefined>
  set(key: string, value: string, ttlMs: number): Promise<void>
  /** Whether it was absent, and is now set: of several at once, one wins. */
  setIfAbsent(key: string, value: string, ttlMs: number): Promise<boolean>
  delete(key: string): Promise<void>
  /** Whether it put a value in the place of `own`, or where none is; one that somebody else set stays. */
  replaceOwn(key: string, own: string, value: string, ttlMs: number): Promise<boolean>
  /** Deletes a value if it is `own`; one that somebody else set stays. */
  deleteOwn(key: string, own: string): Promise<void>
  /** Throws where the store does not answer. */
  ping(): Promise<void>
}

/** Where answers under idempotency keys are kept, and previews of links. */
export type AnswerStore = Omit<KeyValueStore, 'ping'>
