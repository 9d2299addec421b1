/** What is known of an answer whose room was told that it begins. */
export interface AnswerDisclosure {
  /** Of its disclosure. */
  id: number
  room: number
  /** The membership of who asked for it. */
  member: number
}

/** An answer that a model gives in a room, behind the request that asked for it. */
export interface RoomAnswer {
  /** Ends when somebody cancels it, when its room or its asker's right is gone, and when the process stops. */
  signal: AbortSignal
  /** Goes on with the work, which must not throw. */
  run(told: AnswerDisclosure, work: () => Promise<void>): void
  /** Nothing is to be done after all; does nothing while the work runs. */
  [Symbol.dispose](): void
}

/** The answers under way. Those of a process that dies are ended by another one. */
export interface RoomAnswers {
  /** Throws where the person, or this process, has too many under way. */
  open(person: number): RoomAnswer
}

/** How long an answer counts as under way of which its process says nothing, in milliseconds. */
export const ANSWER_LEASE_MS = 30_000
