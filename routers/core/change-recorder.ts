import type { EntityManager } from '@mikro-orm/postgresql'
import type { LoggedChange } from '../../entities/events/change-log.sql.ts'
import type { Resource } from '../resource/declare.ts'
import type { RecordRef } from '../resource/record.ts'

export type StreamKind = 'room' | 'user'
/** A stream that can be followed: a room, a person, everybody, or administrators only. */
export type Stream = `${StreamKind}:${number}` | 'all' | 'admins'

type ChangeVerb = 'created' | 'updated' | 'deleted'

/** Records what a transaction changes. */
export interface ChangeRecorder {
  /** Adds a change to the given streams. */
  add(streams: readonly Stream[], verb: ChangeVerb, type: string, id: number | string): void
  /** Adds a change to the streams that the row belongs to by its declaration. */
  addRow(of: Resource, verb: ChangeVerb, row: { id: number }): void
  /** Adds changes that a statement has already written to the log. */
  addLogged(changes: readonly LoggedChange[]): void
  /**
   * Adds a row as every follower of the stream may read it, so that its changes in the stream carry it. A large one is
   * left out.
   */
  addRecord(stream: Stream, type: string, record: RecordRef): void
  /** Adds sessions and tokens that end with the commit. */
  addEnded(credentials: readonly string[]): void
  /** Names files that are removed after the commit, because nothing refers to them any more. */
  dropFiles(names: readonly string[], store?: DroppedFile['store']): void
}

/** A file to be removed; it is in the store of attachments unless another one is named. */
export interface DroppedFile {
  store: 'attachments' | 'knowledge' | 'sharedCopies'
  name: string
}

/** A transaction and its change recorder. */
export interface ChangeTransaction {
  em: EntityManager
  changes: ChangeRecorder
}
