import type { Readable } from 'node:stream'
import type { FileToRead } from '../../../routers/ports/files/text-extractor.ts'
import type { AnswerKind } from '../sandbox/answer-kinds.ts'

/** A service elsewhere that turns files into text. */
export interface Converter {
  /** Whether it takes files of a media type; throws where it cannot be asked. */
  accepts(mime: string): Promise<boolean>
  /** What it makes of a file, not read yet; throws where it answers with an error. */
  convert(file: FileToRead, signal?: AbortSignal): Promise<Readable>
  readonly answers: AnswerKind
  close(): Promise<void>
}
