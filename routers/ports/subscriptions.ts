/** Somebody who follows a stream over a connection that stays open. */
export interface Subscriber {
  person: number
  /** By what they call: `session:{hash}` or `token:{id}`. */
  credential: string
  /** Takes that their session or token holds no longer. */
  onSignedOut(): void
  /** Takes that the process stops: they come back, to another one. */
  onDrain(): void
}

/** The subscriptions of this process. */
export interface Subscriptions {
  /** Resolves with the way to close it; throws where there are too many, and where the session or token holds no longer. */
  open(subscriber: Subscriber): Promise<() => void>
  count(): number
  /** Takes no more, and ends those there are one after the other; resolves after so many milliseconds. */
  drain(milliseconds: number): Promise<void>
}
