import { formatCsvText } from '../../../../../routers/ports/csv.ts'
import { writeInline } from './inline-text.ts'
import type { TableToken } from './tokens.ts'

const words = {
  formula: (tex: string) => `$${tex}$`,
  picture: ({ href, text }: { href: string; text: string }) => text || href,
}

/** Writes a table as comma-separated values, in which no cell is a formula of a spreadsheet. */
export const writeTableAsCsv = ({ header, rows }: Pick<TableToken, 'header' | 'rows'>): string =>
  [header, ...rows].map((cells) => cells.map((cell) => formatCsvText(writeInline(cell, words))).join(',')).join('\r\n')
