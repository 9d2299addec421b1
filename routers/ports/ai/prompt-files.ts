import type { FileForPrompt } from '../../../entities/rooms/attachment.sql.ts'
import type { Viewer } from '../../../entities/sql/scope.ts'
import type { StoredBytes } from './stored-bytes.ts'

export type PromptFile = Readonly<FileForPrompt>

/** By what those are woken who wait for the text of an attachment. */
export const textKey = (attachmentId: number): string => `attachment-text:${attachmentId}`

/** Files that people have uploaded, for models to read. */
export interface PromptFiles {
  /** By id or uuid; what the viewer does not see is not among them. */
  find(viewer: Viewer, names: readonly string[]): Promise<readonly PromptFile[]>
  /** A file as it is, of which nothing is read yet. */
  stored(file: PromptFile): StoredBytes
  /** The text in each of them, opened one after the other. Throws where one is gone by then. */
  texts(viewer: Viewer, files: readonly PromptFile[]): AsyncIterable<{ file: PromptFile; text: Buffer }>
}
