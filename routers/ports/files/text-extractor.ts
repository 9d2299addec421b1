import type { Readable } from 'node:stream'
import type { TextFailure, TextNote } from '../../../entities/rooms/attachment.ts'

/** Why a file gives no text, however often it is read. */
export type Unreadable = Exclude<TextFailure, 'not-read'>

export type ExtractedText = ReadText | { unreadable: Unreadable }

export interface ReadText {
  /** A picture, for example, has none: `''`. */
  text: string
  /** Whether the file has more text than is kept. */
  truncated: boolean
  /** What else the file has that is not in the text. */
  notes: readonly TextNote[]
}

export interface FileToRead {
  /** Its media type, by its bytes. */
  mime: string
  bytes: number
  /** Its bytes from the beginning; may be called again. */
  open(): Readable
}

/** Reads the text of files apart from the service, in little memory and time. */
export interface TextExtractor {
  /** Whether files of a media type may have text. */
  mayRead(mime: string): boolean
  /** Throws where something other than the file is at fault, so that another try may succeed. */
  extract(file: FileToRead, signal?: AbortSignal): Promise<ExtractedText>
}
