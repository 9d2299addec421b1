import type { LoggedChange } from '../../entities/events/change-log.sql.ts'

/** A place in a stream of the change log. */
export interface Position {
  epoch: string
  seq: number
}

/** An event that is not logged, such as a piece of an answer in progress; missing it loses nothing permanent. */
export interface EphemeralEvent {
  kind: string
  /** The id of the resource. */
  subject: string
  /** Encrypted if it is confidential. */
  content: string
}

export interface StreamFollower {
  /** Receives the next change; each comes once, in order and without gaps. */
  onChange(change: LoggedChange): void
  /** Changes were lost: the follower must read the data again and continue from this position. */
  onPositionLost(position: Position): void
  /** Receives ephemeral events in order, but possibly with gaps. */
  onEphemeral?(event: EphemeralEvent): void
}

export interface StreamSubscription {
  /** The position before the next change. */
  readonly position: Position
  stop(): void
}

/** Follows streams of the change log; reads from the log what the bus has missed. */
export interface ChangeStreams {
  /** Resolves with the position after which every change arrives. */
  follow(stream: string, follower: StreamFollower): Promise<StreamSubscription>
  /** Sends an event to the current followers of a stream, on all replicas. */
  sendEphemeral(stream: string, event: EphemeralEvent): void
  /** Numbers of followed streams, and of those that wait for a read from the log. */
  countStreams(): { streams: number; behind: number }
  close(): void
}
