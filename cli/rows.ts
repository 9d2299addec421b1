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

/** Comma separated values as RFC 4180 has them, under the names of the members. */
export async function* csvRows(batches: Batches, names: readonly string[]): AsyncGenerator<string, void> {
  yield `${names.join()}\r\n`
  for await (const records of batches) {
    for (const record of records) {
      const values = record as Record<string, unknown>
      yield `${names.map((name) => csvValue(values[name])).join()}\r\n`
    }
  }
}

function csvValue(value: unknown): string {
  const text = String(value ?? '')
  // Escapes what a spreadsheet would run as a formula.
  const plain = typeof value === 'string' && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain
}

/** Writes chunks with backpressure. */
export async function writeAll(out: Writable, chunks: AsyncIterable<string>): Promise<void> {
  for await (const chunk of chunks) if (!out.write(chunk)) await once(out, 'drain')
}
