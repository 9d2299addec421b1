/** Short-lived values, shared by all replicas where Redis is configured. Driver: in process, or Redis. */
export interface KeyValueStore {
  get(key: string): Promise<string | undefined>
  set(key: string, value: string, ttlMs: number): Promise<void>
  /** Whether it was absent, and is now set: of several at once, one wins. */
  setIfAbsent(key: string, value: string, ttlMs: number): Promise<boolean>
  /** Whether it was present, and is now set anew. */
  setIfPresent(key: string, value: string, ttlMs: number): Promise<boolean>
  /** Puts a text into a set, or lets its time there run anew; the whole set lasts as long as what came last. */
  addMember(key: string, member: string, ttlMs: number): Promise<void>
  removeMember(key: string, member: string): Promise<void>
  /** What is in a set and whose time is not over, the last added first. */
  members(key: string): Promise<string[]>
  /** Of a value or of a set. */
  delete(key: string): Promise<void>
  /** Throws where the store does not answer. */
  ping(): Promise<void>
}

/** Where answers under idempotency keys are kept. */
export type AnswerStore = Pick<KeyValueStore, 'get' | 'set' | 'setIfAbsent' | 'delete'>
