import type { LoggedChange } from '../../entities/events/change-log.sql.ts'

/** A place in a stream of the change log. */
export interface Position {
  epoch: string
  seq: number
}

/** Something that stands in no log, such as a piece of an answer that a model is giving. Who misses it misses nothing that lasts. */
export interface EphemeralEvent {
  kind: string
  /** The id of the resource that it is about. */
  subject: string
  /** Encrypted where others must not read it. */
  content: string
}

export interface StreamFollower {
  /** Takes the next change: each once, in the order of the log, none left out. */
  onChange(change: LoggedChange): void
  /** Changes were lost for good: whoever follows reads the data anew and goes on from here. */
  onPositionLost(position: Position): void
  /** Takes what is told in passing: in order, though some may be missing. */
  onEphemeral?(event: EphemeralEvent): void
}

export interface StreamSubscription {
  /** Before the next change. */
  readonly position: Position
  stop(): void
}

/** Follows streams of the change log. What the bus leaves out is read from the log. */
export interface ChangeStreams {
  /** Resolves once the position is known from which on everything is heard. */
  follow(stream: string, follower: StreamFollower): Promise<StreamSubscription>
  /** Tells whoever follows a stream now, at every replica. */
  sendEphemeral(stream: string, event: EphemeralEvent): void
  /** How many streams are followed, and how many of them wait for changes to be read from the log. */
  counts(): { streams: number; behind: number }
  close(): void
}
