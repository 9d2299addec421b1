/** A place in a stream of changes: `{epoch}:{seq}`. */
export type Position = string

export const epochOf = (position: Position): string => position.slice(0, position.indexOf(':'))
export const seqOf = (position: Position): number => Number(position.slice(position.indexOf(':') + 1))

/** The place of the change that comes next. */
export const nextPosition = (position: Position): Position => `${epochOf(position)}:${seqOf(position) + 1}`

/** Whether a place is behind another one, or cannot be compared with it. */
export const isAhead = (one: Position, other: Position): boolean =>
  epochOf(one) !== epochOf(other) || seqOf(one) > seqOf(other)

/** What happened to a resource: `kind` is its type and a verb, such as `room-messages.created`, `subject` its id. */
export interface Change {
  seq: number
  kind: string
  subject: string
  /** When, in RFC 3339. */
  at: string
}

/** An event that no log keeps, such as a piece of an answer that a model is giving. */
export interface PassingEvent {
  kind: string
  /** The id of the resource that it is about. */
  subject: string
  content: string
}

/** Takes what a transport hears. */
export interface Listener {
  /** It listens, or listens again: what changes behind this position will be told, as long as the connection holds. */
  subscribed(position: Position): void
  changed(position: Position, change: Change): void
  /** Something is told in passing: once, and only to whoever listens at that moment. */
  passed?(event: PassingEvent): void
  /** The stream has ended for good, and no change follows. */
  ended(reason: StreamEnded): void
}

/** Carries changes as they happen. It comes back by itself after a lost connection; it may lose, repeat and reorder. */
export interface Transport {
  /** Returns the way to stop. */
  listen(listener: Listener): () => void
}

/** The stream is not for this caller, or not any more: trying again is of no use. */
export class StreamEnded extends Error {
  override readonly name = 'StreamEnded'
  /** The word of the service for why, such as `not_found` or `signed_out`. */
  readonly code: string

  constructor(code: string, cause?: object) {
    super(`The stream has ended: ${code}`, { cause })
    this.code = code
  }
}

/** Milliseconds until the next attempt; the first is number 1. */
export type RetryDelay = (attempt: number) => number

const MAX_DELAY_MS = 30_000

/** Twice as long each time, and for each client another time: those that lost a server come back one after the other. */
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
