import type { Collector } from './collector.ts'
import { Unreadable } from './unreadable.ts'

/** Text in UTF-8, in UTF-16 with or without its mark, or in Windows-1252, of which Latin-1 is a part. */
export function readPlain(bytes: Buffer, text: Collector): void {
  text.add(decode(bytes))
}

export function decode(bytes: Buffer): string {
  const encoding = markOf(bytes) ?? guessUtf16(bytes)
  if (encoding) return new TextDecoder(encoding).decode(bytes)
  if (bytes.includes(0)) throw new Unreadable('damaged')
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return new TextDecoder('windows-1252').decode(bytes)
  }
}

const marks = [
  { encoding: 'utf-8', bytes: [0xef, 0xbb, 0xbf] },
  { encoding: 'utf-16le', bytes: [0xff, 0xfe] },
  { encoding: 'utf-16be', bytes: [0xfe, 0xff] },
]

const markOf = (bytes: Buffer) =>
  marks.find((mark) => mark.bytes.every((byte, index) => bytes[index] === byte))?.encoding

const SAMPLE = 4096

/** Most characters of most languages' files have an empty half: spaces, digits, line ends, markup. */
function guessUtf16(bytes: Buffer): string | undefined {
  const sample = bytes.subarray(0, SAMPLE)
  const zeros = [0, 0]
  sample.forEach((byte, index) => {
    if (byte === 0) zeros[index % 2] = (zeros[index % 2] ?? 0) + 1
  })
  const [even = 0, odd = 0] = zeros
  const enough = sample.length / 20
  if (bytes.length % 2 !== 0 || even + odd < enough) return undefined
  if (even === 0) return 'utf-16le'
  return odd === 0 ? 'utf-16be' : undefined
}
