/** As much of a text as is judged. */
const SAMPLE_BYTES = 8 * 1024

/** The media type of bytes that are text; nothing where they are not. */
export async function detectTextKind(head: Buffer): Promise<string | undefined> {
  const sample = head.subarray(0, SAMPLE_BYTES)
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

const containsControls = (controls: RegExp, text: string): boolean => controls.test(text.replaceAll(ESCAPE, ''))

/** UTF-16, UTF-8, or Latin-1 for all encodings with the characters of ASCII. Undefined where the bytes are no text. */
async function detectEncoding(sample: Buffer): Promise<string | undefined> {
  const utf16 = await detectUtf16(sample)
  const isSingleByte = !utf16 && !containsControls(ASCII_CONTROLS, sample.toString('latin1'))
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
    return !containsControls(CONTROLS, new TextDecoder(encoding, { fatal: true }).decode(bytes, { stream: true }))
  } catch {
    return false
  }
}

/** Tells of a file that begins as text whether it goes on as text, part by part. A text may change its encoding on the way. */
export async function createTextCheck(head: Buffer): Promise<(part: Uint8Array) => boolean> {
  const utf16 = await detectUtf16(head.subarray(0, SAMPLE_BYTES))
  const decoder = new TextDecoder(utf16 ?? 'latin1')
  return (part) => !containsControls(utf16 ? CONTROLS : ASCII_CONTROLS, decoder.decode(part, { stream: true }))
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

/** What may stand in front of the root of a document, each with its end. */
const prologuePatterns: readonly [begin: RegExp, end: string][] = [
  [/\s+/y, ''],
  [/<\?/y, '?>'],
  [/<!--/y, '-->'],
]

/** Names without the prefix of their namespace. */
const ROOT = /<(?:[\w.-]+:)?([\w.-]+)[\s/>]/y
const DOCTYPE = /<!doctype\s+(?:[\w.-]+:)?([\w.-]+)/iy

/** The name of the first element of a text that is markup, in lower case; nothing where it is none, or begins too late. */
function findRoot(text: string): string | undefined {
  for (let at = 0; at !== -1; ) {
    const [, root] = matchAt(ROOT, text, at) ?? []
    const [, doctype] = matchAt(DOCTYPE, text, at) ?? []
    // A page may leave its first element out.
    if (root || doctype?.toLowerCase() === 'html') return (root ?? doctype)?.toLowerCase()
    at = doctype ? skipDoctype(text, at) : skipPrologue(text, at)
  }
  return undefined
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at
  return pattern.exec(text)
}

/** Where one piece of what stands in front ends; -1 where there is none. */
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

/** What hides an end in a document type. Its declarations stand in square brackets. */
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
