import type { Readable } from 'node:stream'
import type { FileForPrompt } from '../../../entities/rooms/attachment.sql.ts'
import type { Viewer } from '../../../entities/sql/scope.ts'

/** What is in a stored file, which is read while it is sent and never held as a whole. */
export interface StoredBytes {
  bytes: number
  /** From the beginning, each time. */
  open(): Readable
  /** Of a PDF, as many as it has at least; undefined where they cannot be counted. Throws where it cannot be read. */
  pages(): Promise<number | undefined>
}

/** A stored file that could not be read while it was sent: no provider is at fault. */
export class FileReadError extends Error {
  override name = 'UnreadFile'
  readonly phase = 'sending'
  /** What went wrong. It is not the cause, by which a failure of the store would pass for one of the provider. */
  readonly reason: unknown

  constructor(reason: unknown) {
    super('a stored file cannot be read')
    this.reason = reason
  }
}

export type PromptFile = Readonly<FileForPrompt>

/** By what those are woken who wait for the text of an attachment. */
export const attachmentTextKey = (attachmentId: number): string => `attachment-text:${attachmentId}`

/** Files that people have uploaded, for models to read. */
export interface PromptFiles {
  /** By id or uuid; what the viewer does not see is not among them. */
  find(viewer: Viewer, names: readonly string[]): Promise<readonly PromptFile[]>
  /** A file as it is, of which nothing is read yet. */
  toStoredBytes(file: PromptFile): StoredBytes
  /** The text in each of them, opened one after the other. Throws where one is gone by then. */
  readTexts(viewer: Viewer, files: readonly PromptFile[]): AsyncIterable<{ file: PromptFile; text: Buffer }>
}
