import type { LoggedChange } from '../../entities/events/change-log.sql.ts'

export interface ChangeListener {
  /** Takes what one transaction changed, in the order of its streams. */
  onChanges(changes: readonly LoggedChange[]): void
  /** Changes of other replicas may have been missed: whoever follows a stream compares positions. */
  onInterruption(): void
  /** Takes what another replica tells in passing. */
  onMessage?(topic: string, content: unknown): void
}

/** Carries rows of the change log to every replica, after their commit. Driver: in process, or Redis. */
export interface ChangeBus {
  /** Neither waits nor throws: who missed a row finds it in the log. */
  publish(changes: readonly LoggedChange[]): void
  /**
   * Tells the other replicas something that stands in no log: whoever may have missed it is told of an interruption. Resolves
   * once it is on its way to them, or cannot be; never throws. What is told or published later comes later.
   */
  broadcast(topic: string, content: unknown): Promise<void>
  /** Whether other replicas are heard. */
  isConnected(): boolean
  /** Returns the way to stop listening. */
  subscribe(listener: ChangeListener): () => void
  close(): Promise<void>
}
