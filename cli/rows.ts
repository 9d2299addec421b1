import { once } from 'node:events'
import type { Writable } from 'node:stream'

type Batches = AsyncIterable<readonly object[]>

/** One JSON array, a record a line. */
export async function* jsonRows(batches: Batches): AsyncGenerator<string, void> {
  let before = '['
  for await (const records of batches) {
    for (const record of records) {
      yield `${before}\n${JSON.stringify(record)}`
      before = ','
    }
  }
  yield before === '[' ? '[]\n' : '\n]\n'
}

/** By what values and decimals are separated. */
interface CsvForm {
  separator: string
  decimal: string
}

const plainForm: CsvForm = { separator: ',', decimal: '.' }

/** Chooses what spreadsheets of a country read: a semicolon between values where a comma stands before decimals. */
export function chooseCsvForm(locale: string): CsvForm {
  const parts = new Intl.NumberFormat(locale.replace('_', '-')).formatToParts(0.5)
  const decimal = parts.find(({ type }) => type === 'decimal')?.value ?? '.'
  return decimal === ',' ? { separator: ';', decimal } : plainForm
}

/** Comma separated values as RFC 4180 has them, under the names of the members. */
export async function* csvRows(
  batches: Batches,
  names: readonly string[],
  { separator, decimal }: CsvForm = plainForm,
): AsyncGenerator<string, void> {
  yield `${names.join(separator)}\r\n`
  for await (const records of batches) {
    for (const record of records) {
      const values = record as Record<string, unknown>
      yield `${names.map((name) => csvValue(values[name], { separator, decimal })).join(separator)}\r\n`
    }
  }
}

function csvValue(value: unknown, { separator, decimal }: CsvForm): string {
  const text = typeof value === 'number' ? String(value).replace('.', decimal) : String(value ?? '')
  // Escapes what a spreadsheet would run as a formula.
  const plain = typeof value === 'string' && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return plain.includes(separator) || /["\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain
}

/** Writes chunks with backpressure. */
export async function writeAll(out: Writable, chunks: AsyncIterable<string>): Promise<void> {
  for await (const chunk of chunks) if (!out.write(chunk)) await once(out, 'drain')
}
