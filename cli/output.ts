import { once } from 'node:events'
import type { Writable } from 'node:stream'
import { formatCsvText } from '../routers/ports/csv.ts'

/** Width of a terminal. */
export const WIDTH = 80

interface TableOptions {
  /** Maximum width of the table; the longest texts of the cuttable columns are cut. */
  width: number
  cuttable: readonly string[]
  /** Columns that are cut where that is not enough. */
  cuttableLast?: readonly string[]
}

/** Formats records as a table with the member names as header. */
export function formatTable(records: readonly object[], none: string, options?: TableOptions): string {
  const [first] = records
  if (!first) return none
  const rows = [Object.keys(first), ...records.map((record) => Object.values(record).map(formatCell))]
  const names = Object.keys(first)
  const fullWidths = names.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  const widths = options ? shrinkColumns(fullWidths, names, options) : fullWidths
  return rows
    .map((row) =>
      row
        .map((text, column) => truncate(text, widths[column] ?? 0).padEnd(widths[column] ?? 0))
        .join(GAP)
        .trimEnd(),
    )
    .join('\n')
}

const GAP = '  '

/** Shrinks the widest cuttable column, down to the width of its name, until the table fits. */
function shrinkColumns(
  fullWidths: readonly number[],
  names: readonly string[],
  { width, cuttable, cuttableLast = [] }: TableOptions,
): readonly number[] {
  const widths = [...fullWidths]
  const computeTotalWidth = () => widths.reduce((sum, each) => sum + each + GAP.length, -GAP.length)
  while (computeTotalWidth() > width) {
    const findWidest = (cut: readonly string[]) =>
      [...names.keys()]
        .filter((column) => cut.includes(names[column] ?? '') && (widths[column] ?? 0) > (names[column]?.length ?? 0))
        .toSorted((a, b) => (widths[b] ?? 0) - (widths[a] ?? 0))[0]
    const widest = findWidest(cuttable) ?? findWidest(cuttableLast)
    if (widest === undefined) break
    widths[widest] = (widths[widest] ?? 0) - 1
  }
  return widths
}

const truncate = (text: string, width: number) => (text.length > width ? `${text.slice(0, width - 1)}…` : text)

/** Formats a record with one line for each member. */
export function formatProperties(record: object): string {
  const width = Math.max(...Object.keys(record).map((name) => name.length))
  return Object.entries(record)
    .map(([name, value]) => `${name.padEnd(width)}  ${formatCell(value)}`)
    .join('\n')
}

/** Matches a time, which is shown in minutes. */
const timestamp = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d):[\d.]+Z$/

function formatCell(value: unknown): string {
  if (value === null || value === undefined || value === '') return '-'
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  return Array.isArray(value) ? value.join(',') || '-' : String(value).replace(timestamp, '$1 $2')
}

/**
 * Wraps a text to the width of a terminal, with `lead` before the first line and as much indentation before the others.
 */
export function wrapText(lead: string, text: string): string {
  const lines = [lead]
  let isEmpty = true
  for (const word of text.split(' ')) {
    const line = lines.at(-1) ?? ''
    const longer = `${line}${isEmpty ? '' : ' '}${word}`
    if (isEmpty || longer.length <= WIDTH) lines[lines.length - 1] = longer
    else lines.push(' '.repeat(lead.length) + word)
    isEmpty = false
  }
  return lines.join('\n')
}

type Batches = AsyncIterable<readonly object[]>

/** Writes a JSON array with one record per line. */
export async function* writeJsonRows(batches: Batches): AsyncGenerator<string, void> {
  let before = '['
  for await (const records of batches) {
    for (const record of records) {
      yield `${before}\n${JSON.stringify(record)}`
      before = ','
    }
  }
  yield before === '[' ? '[]\n' : '\n]\n'
}

/** Separators of values and decimals. */
interface CsvForm {
  separator: string
  decimal: string
}

const plainForm: CsvForm = { separator: ',', decimal: '.' }

/** Returns the separators that spreadsheets of a locale expect: semicolons if it uses decimal commas. */
export function chooseCsvForm(locale: string): CsvForm {
  const parts = new Intl.NumberFormat(locale.replace('_', '-')).formatToParts(0.5)
  const decimal = parts.find(({ type }) => type === 'decimal')?.value ?? '.'
  return decimal === ',' ? { separator: ';', decimal } : plainForm
}

/** Writes comma separated values as RFC 4180 defines them, with the member names as header. */
export async function* writeCsvRows(
  batches: Batches,
  names: readonly string[],
  { separator, decimal }: CsvForm = plainForm,
): AsyncGenerator<string, void> {
  yield `${names.join(separator)}\r\n`
  for await (const records of batches) {
    for (const record of records) {
      const values = record as Record<string, unknown>
      yield `${names.map((name) => formatCsvValue(values[name], decimal)).join(separator)}\r\n`
    }
  }
}

function formatCsvValue(value: unknown, decimal: string): string {
  return typeof value === 'number' ? String(value).replace('.', decimal) : formatCsvText(String(value ?? ''))
}

/** Writes chunks with backpressure. */
export async function writeChunks(out: Writable, chunks: AsyncIterable<string> | Iterable<string>): Promise<void> {
  for await (const chunk of chunks) if (!out.write(chunk)) await once(out, 'drain')
}
