/** A person who follows a stream over an open connection. */
export interface Subscriber {
  person: number
  /** The credential: `session:{hash}` or `token:{id}`. */
  credential: string
  /** Called when the session or token has ended. */
  onSignedOut(): void
  /** Called when the process stops, so that the client reconnects to another one. */
  onDrain(): void
}

/** The subscriptions of this process. */
export interface Subscriptions {
  /**
   * Resolves with a function that closes the subscription; throws if there are too many, or if the session or token has
   * ended.
   */
  open(subscriber: Subscriber): Promise<() => void>
  count(): number
  /** Refuses new subscriptions, and ends the open ones spread over the given milliseconds. */
  drain(milliseconds: number): Promise<void>
}
