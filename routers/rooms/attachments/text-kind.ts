import { findRoot } from './markup-root.ts'

/** As much of a text as is judged. */
const SAMPLE = 8 * 1024

/** The media type of bytes that are text; nothing where they are not. */
export async function detectTextKind(head: Buffer): Promise<string | undefined> {
  const sample = head.subarray(0, SAMPLE)
  const encoding = await detectEncoding(sample)
  if (encoding === undefined) return undefined
  const root = findRoot(new TextDecoder(encoding).decode(head))
  if (root === 'html') return 'text/html'
  if (root === 'svg') return 'image/svg+xml'
  return isTable(new TextDecoder(encoding).decode(sample, { stream: true })) ? 'text/csv' : 'text/plain'
}

/** Control characters that no text has: all but white space. */
const CONTROLS = /[^\P{Cc}\t\n\f\r]/u

/** Those of them that mean the same in all encodings of single bytes. */
const ASCII_CONTROLS = /[^\P{Cc}\t\n\f\r\u0080-\u009f]/u

/** Begins the colours in what programs write. */
const ESCAPE = '\u001b'

const has = (controls: RegExp, text: string): boolean => controls.test(text.replaceAll(ESCAPE, ''))

/** UTF-16, UTF-8, or Latin-1 for all encodings with the characters of ASCII. Undefined where the bytes are no text. */
async function detectEncoding(sample: Buffer): Promise<string | undefined> {
  const utf16 = await detectUtf16(sample)
  const isSingleByte = !utf16 && !has(ASCII_CONTROLS, sample.toString('latin1'))
  return [utf16 ?? 'utf-8'].find((encoding) => isText(encoding, sample)) ?? (isSingleByte ? 'latin1' : undefined)
}

/** UTF-16 by its mark, or by its characters; a text in any other encoding has no zeros. */
async function detectUtf16(sample: Buffer): Promise<string | undefined> {
  const [first, second] = sample
  if (first === 0xff && second === 0xfe) return 'utf-16le'
  if (first === 0xfe && second === 0xff) return 'utf-16be'
  if (!sample.includes(0)) return undefined
  const { detect } = await import('jschardet')
  const [, order] = detect(sample).encoding?.match(/^utf-16-([bl]e)$/) ?? []
  return order && `utf-16${order}`
}

function isText(encoding: string, bytes: Uint8Array): boolean {
  try {
    // A character at the end of the sample may be cut.
    return !has(CONTROLS, new TextDecoder(encoding, { fatal: true }).decode(bytes, { stream: true }))
  } catch {
    return false
  }
}

/** Tells of a file that begins as text whether it goes on as text, part by part. A text may change its encoding on the way. */
export async function textWatch(head: Buffer): Promise<(part: Uint8Array) => boolean> {
  const utf16 = await detectUtf16(head.subarray(0, SAMPLE))
  const decoder = new TextDecoder(utf16 ?? 'latin1')
  return (part) => !has(utf16 ? CONTROLS : ASCII_CONTROLS, decoder.decode(part, { stream: true }))
}

/** Whether the first lines have equally many fields, as a table has. */
function isTable(text: string): boolean {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '')
  // The last line may be cut, too.
  const whole = lines.length > 2 ? lines.slice(0, -1) : lines
  return whole.length > 1 && [',', ';', '\t'].some((separator) => isSeparatedBy(separator, whole.slice(0, 20)))
}

function isSeparatedBy(separator: string, lines: readonly string[]): boolean {
  const counts = new Set(lines.map((line) => line.replace(/"(?:[^"]|"")*"/g, '').split(separator).length))
  return counts.size === 1 && !counts.has(1)
}
