import type { FileForPrompt } from '../../../entities/rooms/attachment.sql.ts'
import type { Viewer } from '../../../entities/sql/scope.ts'

export type PromptFile = Readonly<FileForPrompt>

/** A file as a model is to be given it: as it is, or the text in it. */
export interface WantedFile {
  file: PromptFile
  as: 'bytes' | 'text'
}

/** Files that people have uploaded, for models to read. */
export interface PromptFiles {
  /** By id or uuid; what the viewer does not see is not among them. */
  find(viewer: Viewer, names: readonly string[]): Promise<readonly PromptFile[]>
  /** What is in each of them, in their order, read one after the other. Throws where one is gone by then. */
  contents(viewer: Viewer, files: readonly WantedFile[]): AsyncIterable<Buffer>
}
