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
  canRead(mime: string): boolean
  /** Throws where something other than the file is at fault, so that another try may succeed. */
  extract(file: FileToRead, signal?: AbortSignal): Promise<ExtractedText>
}

/** One of each, and several. */
const words = {
  pictures: ['picture', 'pictures'],
  pages: ['page without text', 'pages without text'],
  'embedded-files': ['embedded file', 'embedded files'],
  parts: ['part that could not be read', 'parts that could not be read'],
  cells: ['group of cells beyond those that are read', 'groups of cells beyond those that are read'],
  characters: ['character that the file does not name', 'characters that the file does not name'],
} satisfies Record<TextNote['gap'], [string, string]>

/** "3 pictures, 1 embedded file". */
export const listGaps = (notes: readonly TextNote[]): string =>
  notes.map(({ gap, count }) => `${count} ${words[gap][count === 1 ? 0 : 1]}`).join(', ')

/** The text of a file as models read it: followed by what it is without. */
export function appendNotes({ text, truncated, notes }: ReadText): string {
  const rest = truncated ? ['the rest of the text, which is too long'] : []
  const missing = [...rest, ...(notes.length > 0 ? [listGaps(notes)] : [])].join(', ')
  return missing ? `${text}\n\n[Not included: ${missing}.]` : text
}
