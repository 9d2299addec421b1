/** A position in a stream of changes: `{epoch}:{seq}`. */
export type Position = string

export const epochOf = (position: Position): string => position.slice(0, position.indexOf(':'))
export const seqOf = (position: Position): number => Number(position.slice(position.indexOf(':') + 1))

/** Returns the position of the next change. */
export const nextPosition = (position: Position): Position => `${epochOf(position)}:${seqOf(position) + 1}`

/** Returns true if a position is after another one, or in another epoch. */
export const isAhead = (one: Position, other: Position): boolean =>
  epochOf(one) !== epochOf(other) || seqOf(one) > seqOf(other)

/** A change of a resource: `kind` is its type and a verb, such as `room-messages.created`, `subject` its id. */
export interface Change {
  seq: number
  kind: string
  subject: string
  /** Time of the change in RFC 3339. */
  at: string
  /** The changed record with its attachments, if the change carries it; otherwise it is read as before. */
  record?: unknown
}

/** An event outside the log, such as a piece of a growing answer. */
export interface PassingEvent {
  kind: string
  /** Id of the resource that the event concerns. */
  subject: string
  content: string
}

/** Receives the events of a transport. */
export interface Listener {
  /** The subscription is active (again): changes after this position will arrive while the connection lasts. */
  subscribed(position: Position): void
  changed(position: Position, change: Change): void
  /** A passing event: sent once, and only to current listeners. */
  passed?(event: PassingEvent): void
  /** The stream has ended for good. */
  ended(reason: StreamEnded): void
}

/** Delivers changes. It reconnects by itself; it may lose, repeat and reorder changes. */
export interface Transport {
  /** Returns a function that stops listening. */
  listen(listener: Listener): () => void
}

/** The stream is closed to this caller: a retry is useless. */
export class StreamEnded extends Error {
  override readonly name = 'StreamEnded'
  /** The error code of the service, such as `not_found` or `signed_out`. */
  readonly code: string

  constructor(code: string, cause?: object) {
    super(`The stream has ended: ${code}`, { cause })
    this.code = code
  }
}

/** Milliseconds until the next attempt; the first is number 1. */
export type RetryDelay = (attempt: number) => number

const MAX_DELAY_MS = 30_000

/** Exponential backoff with jitter, so that clients do not reconnect all at once. */
export const retryDelay: RetryDelay = (attempt) =>
  Math.min(MAX_DELAY_MS, 500 * 2 ** (attempt - 1)) * (0.5 + Math.random())

/** Resolves after so many milliseconds, or when the signal is aborted. */
export const pause = (milliseconds: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve()
    const done = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, milliseconds)
    signal.addEventListener('abort', done)
  })
