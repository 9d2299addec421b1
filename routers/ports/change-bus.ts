import type { LoggedChange } from '../../entities/events/change-log.sql.ts'

export interface ChangeListener {
  /** Receives the changes of one transaction, in the order of its streams. */
  onChanges(changes: readonly LoggedChange[]): void
  /** Changes of other replicas may have been missed; followers must compare positions. */
  onInterruption(): void
  /** Receives a message of another replica. */
  onMessage?(topic: string, content: unknown): void
}

/** Distributes rows of the change log to all replicas after the commit. Drivers: in process, and Redis. */
export interface ChangeBus {
  /** Publishes changes without waiting or throwing; a missed row is in the log. */
  publish(changes: readonly LoggedChange[]): void
  /**
   * Sends the other replicas a message that is not logged; a replica that may have missed it gets an interruption.
   * Resolves when the message is sent or has failed; never throws. Messages and changes keep their order.
   */
  broadcast(topic: string, content: unknown): Promise<void>
  /** Returns true if messages of other replicas arrive. */
  isConnected(): boolean
  /** Returns a function that removes the listener. */
  subscribe(listener: ChangeListener): () => void
  close(): Promise<void>
}
