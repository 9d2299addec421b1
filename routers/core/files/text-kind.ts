/** Bytes of a text that are examined. */
const SAMPLE_BYTES = 8 * 1024

/** Detects the media type of text; returns undefined for other bytes. */
export async function detectTextKind(head: Buffer): Promise<string | undefined> {
  const sample = head.subarray(0, SAMPLE_BYTES)
  const encoding = await detectEncoding(sample)
  if (encoding === undefined) return undefined
  const root = findRoot(new TextDecoder(encoding).decode(head))
  if (root === 'html') return 'text/html'
  if (root === 'svg') return 'image/svg+xml'
  return isTable(new TextDecoder(encoding).decode(sample, { stream: true })) ? 'text/csv' : 'text/plain'
}

/** Control characters that no text contains: all but white space. */
const CONTROLS = /[^\P{Cc}\t\n\f\r]/u

/** The same, limited to characters that are equal in all single-byte encodings. */
const ASCII_CONTROLS = /[^\P{Cc}\t\n\f\r\u0080-\u009f]/u

/** The escape character, with which programs begin colour codes. */
const ESCAPE = '\u001b'

const containsControls = (controls: RegExp, text: string): boolean => controls.test(text.replaceAll(ESCAPE, ''))

/** Detects UTF-16, UTF-8, or Latin-1 for all encodings that extend ASCII; returns undefined for binary bytes. */
async function detectEncoding(sample: Buffer): Promise<string | undefined> {
  const utf16 = await detectUtf16(sample)
  const isSingleByte = !utf16 && !containsControls(ASCII_CONTROLS, sample.toString('latin1'))
  return [utf16 ?? 'utf-8'].find((encoding) => isText(encoding, sample)) ?? (isSingleByte ? 'latin1' : undefined)
}

/** Detects UTF-16 by its byte order mark, or by its characters if there are zeros, which no other encoding has. */
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
    // A character at the end of the sample may be truncated.
    return !containsControls(CONTROLS, new TextDecoder(encoding, { fatal: true }).decode(bytes, { stream: true }))
  } catch {
    return false
  }
}

/** Creates a check that each part of a file is still text. A text may change its encoding on the way. */
export async function createTextCheck(head: Buffer): Promise<(part: Uint8Array) => boolean> {
  const utf16 = await detectUtf16(head.subarray(0, SAMPLE_BYTES))
  const decoder = new TextDecoder(utf16 ?? 'latin1')
  return (part) => !containsControls(utf16 ? CONTROLS : ASCII_CONTROLS, decoder.decode(part, { stream: true }))
}

/** Returns true if the first lines have equally many fields, as a table has. */
function isTable(text: string): boolean {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '')
  // The last line may be truncated, too.
  const whole = lines.length > 2 ? lines.slice(0, -1) : lines
  return whole.length > 1 && [',', ';', '\t'].some((separator) => isSeparatedBy(separator, whole.slice(0, 20)))
}

function isSeparatedBy(separator: string, lines: readonly string[]): boolean {
  const counts = new Set(lines.map((line) => line.replace(/"(?:[^"]|"")*"/g, '').split(separator).length))
  return counts.size === 1 && !counts.has(1)
}

/** Patterns that may precede the root element, each with its end. */
const prologuePatterns: readonly [begin: RegExp, end: string][] = [
  [/\s+/y, ''],
  [/<\?/y, '?>'],
  [/<!--/y, '-->'],
]

/** The root element and the document type, without namespace prefixes. */
const ROOT = /<(?:[\w.-]+:)?([\w.-]+)[\s/>]/y
const DOCTYPE = /<!doctype\s+(?:[\w.-]+:)?([\w.-]+)/iy

/**
 * Finds the lower-case name of the first element of markup; returns undefined if there is none, or if it begins too
 * late.
 */
function findRoot(text: string): string | undefined {
  for (let at = 0; at !== -1; ) {
    const [, root] = matchAt(ROOT, text, at) ?? []
    const [, doctype] = matchAt(DOCTYPE, text, at) ?? []
    // An HTML page may omit its root element.
    if (root || doctype?.toLowerCase() === 'html') return (root ?? doctype)?.toLowerCase()
    at = doctype ? skipDoctype(text, at) : skipPrologue(text, at)
  }
  return undefined
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at
  return pattern.exec(text)
}

/** Returns the end of one piece before the root, or -1 if there is none. */
function skipPrologue(text: string, at: number): number {
  for (const [begin, end] of prologuePatterns) {
    const [found] = matchAt(begin, text, at) ?? []
    if (found !== undefined) return skipPast(text, end, at + found.length)
  }
  return -1
}

function skipPast(text: string, end: string, from: number): number {
  const at = text.indexOf(end, from)
  return at === -1 ? -1 : at + end.length
}

const TOKEN = /["'[\]>]|<!--/g

/** Delimiters that may enclose an end mark in a document type. Its declarations stand in square brackets. */
const enclosures: Record<string, string> = { '"': '"', "'": "'", '<!--': '-->' }

function skipDoctype(text: string, from: number, end = '>'): number {
  for (let at = from; at !== -1; ) {
    const [token] = matchAt(TOKEN, text, at) ?? []
    if (token === undefined) return -1
    if (token === end) return TOKEN.lastIndex
    at = skipToken(text, token, TOKEN.lastIndex, end)
  }
  return -1
}

function skipToken(text: string, token: string, at: number, end: string): number {
  if (token === '[' && end === '>') return skipDoctype(text, at, ']')
  const closing = enclosures[token]
  return closing ? skipPast(text, closing, at) : at
}
