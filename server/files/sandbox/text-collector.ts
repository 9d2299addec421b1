import type { TextNote } from '../../../entities/rooms/attachment.ts'
import type { UnreadableReason } from '../../../routers/ports/files/text-extractor.ts'

/** Collects text up to a maximum number of characters, and drops the rest. */
export interface TextCollector {
  add(text: string): void
  /** Records that something of the file is missing in the text. */
  reportGap(gap: TextNote['gap'], count?: number): void
  readonly isFull: boolean
  /** Returns the collected text, without control characters. */
  result(): { text: string; truncated: boolean; notes: TextNote[] }
}

export function createTextCollector(max: number): TextCollector {
  const parts: string[] = []
  const gaps = new Map<TextNote['gap'], number>()
  let remaining = max
  let truncated = false
  return {
    add(text) {
      if (text.length > remaining) truncated = true
      const part = text.slice(0, remaining)
      remaining -= part.length
      if (part) parts.push(part)
    },
    reportGap(gap, count = 1) {
      if (count > 0) gaps.set(gap, (gaps.get(gap) ?? 0) + count)
    },
    get isFull() {
      return remaining <= 0
    },
    result: () => ({
      text: cleanText(parts.join('')),
      truncated,
      notes: Array.from(gaps, ([gap, count]) => ({ gap, count })),
    }),
  }
}

/** Removes control characters, lone surrogates and repeated empty lines. */
const cleanText = (text: string) =>
  text
    .toWellFormed()
    .replace(/\r\n?/g, '\n')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is removed.
    .replace(/[\0-\b\v\f\x0e-\x1f\x7f]/g, '')
    .replace(/[ \t]+\n/g, '\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim()

/** Ends an extraction with the reason why the file has no text. */
export class UnreadableError extends Error {
  override name = 'Unreadable'
  readonly reason: UnreadableReason

  constructor(reason: UnreadableReason, cause?: unknown) {
    super(reason, { cause })
    this.reason = reason
  }
}
