/** The disclosure of an answer in progress that its room knows of. */
export interface AnswerDisclosure {
  /** The id of the disclosure. */
  id: number
  room: number
  /** The id of the asker's membership. */
  member: number
}

/** An answer of a model in a room, which continues after the request that started it. */
export interface RoomAnswer {
  /**
   * Aborts when somebody cancels the answer, when the room or the asker's permission is gone, and when the process
   * stops.
   */
  signal: AbortSignal
  /** Continues with the work, which must not throw. */
  run(disclosure: AnswerDisclosure, work: () => Promise<void>): void
  /** Gives up an answer that has not started; does nothing while the work runs. */
  [Symbol.dispose](): void
}

/** The answers in progress. Another process ends those of a failed one. */
export interface RoomAnswers {
  /** Starts an answer; throws if the person or this process has too many. */
  open(person: number): RoomAnswer
}

/** Milliseconds after which an answer counts as lost if its process does not renew the lease. */
export const ANSWER_LEASE_MS = 30_000
