import type { LoggedChange } from '../../entities/events/change-log.sql.ts'
import type { Resource } from '../resource/declare.ts'

export type StreamKind = 'room' | 'user'
/** What can be followed: a room, what concerns one person, what everybody sees, or what only administrators see. */
export type Stream = `${StreamKind}:${number}` | 'all' | 'admins'

type ChangeVerb = 'created' | 'updated' | 'deleted'

/** Takes note of what a transaction changes. */
export interface ChangeRecorder {
  /** Of the streams that are named. */
  add(streams: readonly Stream[], verb: ChangeVerb, type: string, id: number | string): void
  /** Of the streams to which its declaration says the row belongs. */
  addRow(of: Resource, verb: ChangeVerb, row: { id: number }): void
  /** Those that a statement has written to the log itself. */
  addLogged(changes: readonly LoggedChange[]): void
  /** Sessions and tokens that hold no longer once this is committed. */
  addEnded(credentials: readonly string[]): void
  /** Names files to which nothing refers after the commit, when they are removed. */
  dropFiles(names: readonly string[]): void
}
