/** Short-lived values, shared by all replicas where Redis is configured. Driver: in process, or Redis. */
export interface KeyValueStore {
  get(key: string): Promise<string | undefined>
  set(key: string, value: string, ttlMs: number): Promise<void>
  /** Whether it was absent, and is now set: of several at once, one wins. */
  setIfAbsent(key: string, value: string, ttlMs: number): Promise<boolean>
  delete(key: string): Promise<void>
  /** Throws where the store does not answer. */
  ping(): Promise<void>
}

/** Where answers under idempotency keys are kept, and previews of links. */
export type AnswerStore = Pick<KeyValueStore, 'get' | 'set' | 'setIfAbsent' | 'delete'>
