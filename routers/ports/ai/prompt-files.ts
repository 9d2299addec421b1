import type { Readable } from 'node:stream'
import type { FileForPrompt } from '../../../entities/rooms/attachment.sql.ts'
import type { Viewer } from '../../../entities/sql/scope.ts'

/** The content of a stored file, which is streamed and never held in memory as a whole. */
export interface StoredBytes {
  bytes: number
  /** Opens the content from the beginning, each time. */
  open(): Readable
  /**
   * Returns the least number of pages of a PDF; undefined if they cannot be counted. Throws if the file cannot be read.
   */
  pages(): Promise<number | undefined>
}

/** Thrown if a stored file could not be read while it was sent; no provider is at fault. */
export class FileReadError extends Error {
  override name = 'FileReadError'
  readonly phase = 'sending'
  /**
   * The underlying error. It is not the `cause`, so that an error of the store does not count as one of the provider.
   */
  readonly reason: unknown

  constructor(reason: unknown) {
    super('a stored file cannot be read')
    this.reason = reason
  }
}

export type PromptFile = Readonly<FileForPrompt>

/** Returns the key that notifies waiters for the text of an attachment. */
export const attachmentTextKey = (attachmentId: number): string => `attachment-text:${attachmentId}`

/** Uploaded files for models to read. */
export interface PromptFiles {
  /** Finds files by id or uuid; leaves out those that the viewer does not see. */
  find(viewer: Viewer, names: readonly string[]): Promise<readonly PromptFile[]>
  /** Returns the unread bytes of a file. */
  toStoredBytes(file: PromptFile): StoredBytes
  /** Yields the text of each file, opened one after the other. Throws if one is gone. */
  readTexts(viewer: Viewer, files: readonly PromptFile[]): AsyncIterable<{ file: PromptFile; text: Buffer }>
}
