import { type TextCollector, UnreadableError } from './text-collector.ts'

/** Reads text, whose encoding is detected by a byte order mark or by its characters. */
export async function readPlain(bytes: Buffer, text: TextCollector): Promise<void> {
  text.add(await decodeText(bytes))
}

/** Number of bytes that the detector reads. */
const SAMPLE = 64 * 1024

export async function decodeText(bytes: Buffer): Promise<string> {
  const marked = findByteOrderMark(bytes)
  if (marked) return new TextDecoder(marked).decode(bytes)
  if (bytes.includes(0)) return decodeUtf16(bytes)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return decodeByGuess(bytes)
  }
}

const byteOrderMarks = [
  { encoding: 'utf-8', bytes: [0xef, 0xbb, 0xbf] },
  { encoding: 'utf-16le', bytes: [0xff, 0xfe] },
  { encoding: 'utf-16be', bytes: [0xfe, 0xff] },
]

const findByteOrderMark = (bytes: Buffer) =>
  byteOrderMarks.find((mark) => mark.bytes.every((byte, index) => bytes[index] === byte))?.encoding

/** Only UTF-16 contains zero bytes. */
async function decodeUtf16(bytes: Buffer): Promise<string> {
  const { detect } = await import('jschardet')
  const [, order] = detect(bytes.subarray(0, SAMPLE)).encoding?.match(/^utf-16-([bl]e)$/) ?? []
  const text = order ? new TextDecoder(`utf-16${order}`).decode(bytes) : '\0'
  if (text.includes('\0')) throw new UnreadableError('damaged')
  return text
}

/** Encodings without a byte order mark that are still in use, by the detector's name and the decoder's. */
const encodings: Readonly<Record<string, string>> = {
  cp932: 'shift_jis',
  'euc-jp': 'euc-jp',
  gb18030: 'gb18030',
  big5hkscs: 'big5',
  cp949: 'euc-kr',
  cp874: 'windows-874',
  'koi8-r': 'koi8-r',
  'koi8-u': 'koi8-u',
  'iso-8859-2': 'iso-8859-2',
  ...Object.fromEntries(
    [1250, 1251, 1252, 1253, 1254, 1255, 1256, 1257].map((page) => [`windows-${page}`, `windows-${page}`]),
  ),
}

/**
 * The most common encoding. It is seldom used for Icelandic, but Turkish in windows-1254 looks like Icelandic in it.
 */
const DEFAULT_ENCODING = 'windows-1252'
const ICELANDIC = /[ÐðÞþÝý]/

/** Maximum share of words with letters of two alphabets among the words in other alphabets than Latin. */
const MAX_MIXED_SHARE = 0.5

/**
 * Minimum confidence of the default encoding, and maximum confidence of the runner-up, both relative to the best
 * candidate.
 */
const MIN_DEFAULT_CONFIDENCE = 0.7
const MAX_RUNNER_UP_CONFIDENCE = 0.95

async function decodeByGuess(bytes: Buffer): Promise<string> {
  const { detectAll } = await import('jschardet')
  const sample = bytes.subarray(0, SAMPLE)
  const options = { minimumThreshold: 0, detectEncodings: Object.keys(encodings) }
  const candidates = detectAll(sample, options).flatMap(({ encoding, confidence }) => {
    const name = encoding && findCharset(encoding)
    // The last character of the sample may be cut.
    const text = name ? new TextDecoder(name).decode(sample, { stream: true }) : ''
    return name && isPlausible(text) ? [{ name, text, confidence }] : []
  })
  const [best] = candidates
  if (!best) throw new UnreadableError('unknown-encoding')
  const isDefault = candidates.some(
    ({ name, text, confidence }) =>
      name === DEFAULT_ENCODING && !ICELANDIC.test(text) && confidence >= MIN_DEFAULT_CONFIDENCE * best.confidence,
  )
  if (isDefault) return new TextDecoder(DEFAULT_ENCODING).decode(bytes)
  const other = candidates.find(({ text }) => text !== best.text)
  if (other && other.confidence > MAX_RUNNER_UP_CONFIDENCE * best.confidence)
    throw new UnreadableError('unknown-encoding')
  return new TextDecoder(best.name).decode(bytes)
}

/** The detector uses several spellings of the names. */
function findCharset(encoding: string): string | undefined {
  const normalizeName = (name: string) => name.toLowerCase().replace(/[^a-z0-9]/g, '')
  return Object.entries(encodings).find((names) => names.map(normalizeName).includes(normalizeName(encoding)))?.[1]
}

const alphabet = '[\\p{Script=Cyrillic}\\p{Script=Greek}\\p{Script=Hebrew}\\p{Script=Arabic}\\p{Script=Thai}]'
const nonLatinWords = new RegExp(`\\p{L}*${alphabet}\\p{L}*`, 'gu')
/** Returns false if the text has control characters, unknown characters, or too many words that mix alphabets. */
function isPlausible(text: string): boolean {
  if (/[\ufffd\u0080-\u009f]/.test(text)) return false
  const found = text.match(nonLatinWords) ?? []
  return found.filter((word) => /\p{Script=Latin}/u.test(word)).length <= MAX_MIXED_SHARE * found.length
}
