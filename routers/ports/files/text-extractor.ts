import type { Readable } from 'node:stream'
import type { TextFailure, TextNote } from '../../../entities/sql/extracted-text.ts'

/** Permanent reasons why a file has no text. */
export type UnreadableReason = Exclude<TextFailure, 'not-read'>

export type ExtractionResult = ExtractedText | { unreadable: UnreadableReason }

/** Places that are marked in a text. */
export const markKinds = ['page', 'heading', 'table', 'table-end'] as const

/** A place in a text. */
export interface TextMark {
  kind: (typeof markKinds)[number]
  /** Offset into the text, in UTF-16 units. Marks are in the order of their offsets. */
  at: number
  /** The number of the page or slide, or the level of the heading, each from 1; 0 for tables. A heading is the line that begins here. */
  value: number
}

export interface ExtractedText {
  /** Empty if the file has none, such as a picture. */
  text: string
  marks: readonly TextMark[]
  /** True if the file has more text than is stored. */
  truncated: boolean
  /** Content of the file that is missing in the text. */
  notes: readonly TextNote[]
}

export interface FileToRead {
  /** Media type, detected by its bytes. */
  mime: string
  bytes: number
  /** Tells Markdown from other text by its ending; without it no file is taken for Markdown. */
  name?: string
  /** Opens the bytes from the beginning; may be called repeatedly. */
  open(): Readable
}

/** Extracts the text of files in a sandbox with little memory and time. */
export interface TextExtractor {
  /** Returns true if files of a media type may have text. */
  canRead(mime: string): boolean
  /** Throws if something other than the file is at fault, so that a retry may succeed. */
  extract(file: FileToRead, signal?: AbortSignal): Promise<ExtractionResult>
}

/** Singular and plural of each gap. */
const words = {
  pictures: ['picture', 'pictures'],
  pages: ['page without text', 'pages without text'],
  'embedded-files': ['embedded file', 'embedded files'],
  parts: ['part that could not be read', 'parts that could not be read'],
  cells: ['group of cells beyond those that are read', 'groups of cells beyond those that are read'],
  characters: ['character that the file does not name', 'characters that the file does not name'],
} satisfies Record<TextNote['gap'], [string, string]>

/** Lists gaps, for example "3 pictures, 1 embedded file". */
export const listGaps = (notes: readonly TextNote[]): string =>
  notes.map(({ gap, count }) => `${count} ${words[gap][count === 1 ? 0 : 1]}`).join(', ')

/** Returns the text for models, followed by the list of missing content. */
export function appendNotes({ text, truncated, notes }: ExtractedText): string {
  const rest = truncated ? ['the rest of the text, which is too long'] : []
  const missing = [...rest, ...(notes.length > 0 ? [listGaps(notes)] : [])].join(', ')
  return missing ? `${text}\n\n[Not included: ${missing}.]` : text
}
