/** As much of a text as is judged. */
const SAMPLE = 8 * 1024

/** The media type of bytes that are text; nothing where they are not. */
export function textKindOf(head: Buffer): string | undefined {
  const text = decode(head.subarray(0, SAMPLE))
  if (text === undefined) return undefined
  const start = text.trimStart()
  if (/^<!doctype html|^<html/i.test(start)) return 'text/html'
  if (/^<(?:svg|\?xml[^>]*>.*<svg)[\s>]/is.test(start)) return 'image/svg+xml'
  return isTable(text) ? 'text/csv' : 'text/plain'
}

/** Control characters that no text has: all but white space. */
const CONTROLS = /[^\P{Cc}\t\n\f\r]/u

/** Begins the colours in what programs write. */
const ESCAPE = '\u001b'

/** In UTF-16 where it says so, in UTF-8, or else in Windows-1252, in which any bytes mean something. */
function decode(bytes: Buffer): string | undefined {
  const [first, second] = bytes
  const utf16 = first === 0xff && second === 0xfe ? 'utf-16le' : first === 0xfe && second === 0xff ? 'utf-16be' : ''
  const text = decodeAs(utf16 || 'utf-8', bytes) ?? (utf16 ? undefined : decodeAs('windows-1252', bytes))
  return text === undefined || CONTROLS.test(text.replaceAll(ESCAPE, '')) ? undefined : text
}

function decodeAs(encoding: string, bytes: Buffer): string | undefined {
  try {
    // A character at the end of the sample may be cut.
    return new TextDecoder(encoding, { fatal: true }).decode(bytes, { stream: true })
  } catch {
    return undefined
  }
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
