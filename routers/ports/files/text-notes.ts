import type { TextNote } from '../../../entities/rooms/attachment.ts'
import type { ReadText } from './text-extractor.ts'

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
export function withNotes({ text, truncated, notes }: ReadText): string {
  const rest = truncated ? ['the rest of the text, which is too long'] : []
  const missing = [...rest, ...(notes.length > 0 ? [listGaps(notes)] : [])].join(', ')
  return missing ? `${text}\n\n[Not included: ${missing}.]` : text
}
